#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "view/chart/plan_charts.hpp"
#include "view/explore/group_edit.hpp"
#include "view/report/sections.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostGroups = 60;

/// The device that predictions or measurements are of.
const DeviceInfo* device_of(const PlanSection& section) {
  for (const ReportFile* file : section.files) {
    if (const Trace* trace = file->trace()) return &trace->info.device;
  }
  return nullptr;
}

void write_tiles(HtmlWriter& html, const PlanSection& section) {
  std::vector<HtmlWriter::Tile> tiles;
  if (section.forecast) {
    const ExploreAnswer& answer = section.forecast->answer;
    std::string more;
    if (answer.interval) {
      more =
          fmt::format("8 of 10 measured ones lie in {:.2f}x to {:.2f}x", answer.interval->low, answer.interval->high);
    }
    tiles.push_back({ratio_text(answer.report.speedup), "speedup predicted from the profile", std::move(more)});
  }
  if (section.predicted != nullptr) {
    const TraceInfo& info = section.predicted->trace(TraceKind::kPredicted)->info;
    const auto plan = median_of(info, "plan");
    const auto baseline = median_of(info, "baseline");
    if (plan && baseline && *plan > Nanoseconds{}) {
      tiles.push_back({ratio_text(seconds(*baseline) / seconds(*plan)), "speedup predicted when it was planned",
                       fmt::format("{} a step, one after another {}", format_time(*plan), format_time(*baseline))});
    }
  }
  for (const RunSection& run : section.runs) {
    const TraceInfo& info = run.file->trace(TraceKind::kMeasured)->info;
    const auto plan = median_of(info, "plan");
    const auto baseline = median_of(info, "baseline");
    if (!plan || !baseline || *plan <= Nanoseconds{}) continue;
    tiles.push_back({ratio_text(seconds(*baseline) / seconds(*plan)), "speedup measured",
                     fmt::format("{} a step, one after another {}", format_time(*plan), format_time(*baseline))});
  }
  html.tiles(tiles);
}

std::string input_text(const InputPlan& input) {
  std::string text = input.source == InputSource::kGenerated ? "made-up values"
                     : input.source == InputSource::kFolder  ? "images of " + input.path
                                                             : "arrays of " + input.path;
  text += input.sharing == InputSharing::kShared ? ", the same for all members" : ", each member its own";
  if (input.source == InputSource::kFolder)
    text += fmt::format("; {} decode workers, {} buffers", input.decode_workers, input.buffers);
  return text;
}

std::string members_list(const Plan& plan) {
  std::vector<std::pair<ModelSource, std::size_t>> counts;
  for (const Member& member : plan.members) {
    const auto known =
        std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == member.source; });
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace_back(member.source, 1);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [source, count] : counts) {
    std::string part = fmt::format("{} of {}, minibatch {}", count, source.model, source.minibatch);
    for (const auto& [name, value] : source.arguments) part += fmt::format(", {}={}", name, value);
    if (source.training) part += ", trained by " + std::string(optimizer_name(source.training->update));
    if (source.training && source.training->recompute) part += ", computing cheap activations anew";
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string limits_text(const Limits& limits) {
  std::string text;
  if (limits.memory) text += "memory " + format_bytes(*limits.memory);
  if (limits.workspace) text += (text.empty() ? "" : ", ") + ("workspace " + format_bytes(*limits.workspace));
  return text;
}

void write_facts(HtmlWriter& html, const PlanSection& section) {
  const Plan& plan = section.plan;
  std::vector<std::pair<std::string, std::string>> facts = {{"members", members_list(plan)}};
  const DeviceInfo* device = device_of(section);
  facts.emplace_back("device", device != nullptr ? device_text(*device) : plan.device);
  facts.emplace_back("input", input_text(plan.input));
  std::string streams = fmt::format("{}", plan.streams);
  if (plan.launch_threads > 1) streams += fmt::format(", launched by {} threads", plan.launch_threads);
  facts.emplace_back("streams or workers", std::move(streams));
  facts.emplace_back("numbers and layout", fmt::format("{}, {}", to_string(plan.precision), to_string(plan.layout)));
  if (plan.device.starts_with("cuda"))
    facts.emplace_back("launches", plan.launch == LaunchMode::kGraph ? "a graph of the whole step" : "one by one");
  if (const std::string limits = limits_text(plan.limits); !limits.empty()) facts.emplace_back("limits", limits);
  html.facts(facts);
}

std::string streams_text(const Group& group, int streams) {
  if (!group.streams.empty()) return positions_text(group.streams);
  return streams == 1 ? "0" : "dealt round-robin";
}

void write_groups(HtmlWriter& html, const Plan& plan) {
  std::vector<HtmlRow> rows;
  for (const Group& group : plan.groups) {
    if (rows.size() == kMostGroups) break;
    const std::string ops = group.ops.empty() ? "all others" : fmt::format("{}", fmt::join(group.ops, ", "));
    rows.push_back({{group.name},
                    {positions_text(group.members)},
                    {ops},
                    {strategy_name(group.strategy)},
                    {streams_text(group, plan.streams)}});
  }
  html.table("How each group of ops runs.", {{"group"}, {"members"}, {"ops"}, {"strategy"}, {"streams"}}, rows);
  if (plan.groups.size() > kMostGroups)
    html.paragraph(fmt::format("And {} more groups.", plan.groups.size() - kMostGroups), "faint");
}

/// From the forecast, else from what the plan was resolved to.
std::optional<BatchMemory> memory_of(const PlanSection& section) {
  if (section.forecast) return section.forecast->answer.report.memory;
  if (!section.plan.resolved) return std::nullopt;
  const Resolved& resolved = *section.plan.resolved;
  BatchMemory memory;
  memory.weights = resolved.weights;
  memory.activations = resolved.activations;
  memory.workspace = resolved.workspace;
  memory.step = resolved.activations + resolved.workspace;
  memory.input = resolved.input;
  const DeviceInfo* device = device_of(section);
  if (device != nullptr && device->memory.value > 0) memory.device = device->memory;
  return memory;
}

void write_memory(HtmlWriter& html, const PlanSection& section) {
  const auto memory = memory_of(section);
  if (!memory || !memory->unknown.empty()) return;
  html.open_section("Memory", 3);
  const std::vector<NamedMemory> bars = {{"this plan", *memory}};
  const double limits = (section.plan.limits.memory ? 1 : 0) + (memory->device ? 1 : 0);
  Chart chart = memory_chart(bars, section.plan.limits.memory);
  chart.title.clear();  // as the heading above
  html.chart(chart, 105 + 16 * limits,
             fmt::format("What the model batch keeps on its device: {} in all{}.",
                         format_bytes(memory->total().value_or(Bytes{})),
                         memory->device ? fmt::format(", of {}", format_bytes(*memory->device)) : ""));
  html.close_section();
}

}  // namespace

void write_plan(HtmlWriter& html, const PlanSection& section) {
  const bool together = section.plan.members.size() > 1;
  html.open_section(fmt::format("{}{}{}", section.recommended ? "Recommended: " : "", members_text(section.plan),
                                together ? " together" : ""));
  write_tiles(html, section);
  html.open_section("The plan", 3);
  write_facts(html, section);
  write_groups(html, section.plan);
  html.close_section();
  if (section.forecast) {
    write_forecast(html, *section.forecast, "this plan");
  }
  write_memory(html, section);
  if (section.runs.empty() && section.predicted != nullptr) write_run(html, section, {});
  for (const RunSection& run : section.runs) write_run(html, section, run);
  html.close_section();
}

}  // namespace cohort
