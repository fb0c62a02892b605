#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/statistics.hpp"
#include "tracer/profile_record.hpp"
#include "tracer/summary/report_text.hpp"
#include "view/report/sections.hpp"
#include "view/report/timeline_figure.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostRows = 15;

std::string setting(const Trace& trace, const std::string& key) {
  const auto found = trace.info.settings.find(key);
  return found == trace.info.settings.end() ? std::string() : found->second;
}

void write_ops(HtmlWriter& html, const std::vector<OpSummary>& ops) {
  std::vector<HtmlRow> rows;
  for (const OpSummary& op : ops) {
    if (rows.size() == kMostRows) break;
    const auto fastest = std::find_if(op.ways.begin(), op.ways.end(), [&](const WaySummary& way) {
      return way.is_plain && way.record.time == op.best;
    });
    const bool known = fastest != op.ways.end();
    rows.push_back(
        {{op.name},
         number_cell(op.best > Nanoseconds{} ? format_time(op.best) : "-"),
         number_cell(known ? fmt::format("{} to {}", format_time(fastest->p10), format_time(fastest->p90)) : ""),
         {known ? fastest->record.algorithm : "", false, "faint"},
         number_cell(fmt::format("{}", op.ways.size()))});
  }
  html.table(
      fmt::format("The ops that take longest alone, {} of {}, each in its fastest way.", rows.size(), ops.size()),
      {{"op"}, number_cell("median"), number_cell("8 of 10 in"), {"algorithm"}, number_cell("ways timed")}, rows);
}

Chart kernels_chart(const GpuSummary& gpu) {
  Chart chart;
  chart.title = "Kernels that take most time";
  chart.lying = true;
  chart.y = {.label = "time", .unit = AxisUnit::kTime};
  chart.series = {{.kind = SeriesKind::kBars}};
  for (const KernelSummary& kernel : gpu.top_kernels) {
    chart.series[0].points.push_back({.x = static_cast<double>(chart.x.categories.size()),
                                      .y = static_cast<double>(kernel.time.count()),
                                      .label = fmt::format("{} calls", kernel.calls)});
    const bool templated = kernel.name.starts_with("void ");  // which tells nothing
    chart.x.categories.push_back(kernel.name.substr(templated ? 5 : 0));
  }
  return chart;
}

std::string share(Nanoseconds part, const std::optional<TimeWindow>& whole) {
  if (!whole || whole->length() <= Nanoseconds{}) return format_time(part);
  return fmt::format("{} ({:.0f}%)", format_time(part), 100 * seconds(part) / seconds(whole->length()));
}

using Facts = std::vector<std::pair<std::string, std::string>>;

void add_gpu_facts(const GpuSummary& gpu, Facts& facts) {
  facts.emplace_back("kernels", fmt::format("{}, of {} names, {} in all", gpu.kernels, gpu.different_kernels,
                                            format_time(gpu.kernel_time)));
  facts.emplace_back("copies and memsets",
                     fmt::format("{} and {}, {} in all", gpu.copies, gpu.memsets, format_time(gpu.copy_time)));
  if (gpu.active) {
    facts.emplace_back("device work", fmt::format("{} from first to last", format_time(gpu.active->length())));
    facts.emplace_back("device busy", share(gpu.busy, gpu.active));
    facts.emplace_back("streams side by side", share(gpu.overlapped, gpu.active));
  }
  facts.emplace_back("launches",
                     fmt::format("{} by {} thread{}, {} of whole graphs", gpu.launch.launches, gpu.launch.threads,
                                 plural(gpu.launch.threads), gpu.launch.graph_launches));
  if (gpu.launch.call.count > 0)
    facts.emplace_back("a launch call",
                       fmt::format("{} (median), {} at the 90th percentile", format_time(gpu.launch.call.median),
                                   format_time(gpu.launch.call.p90)));
  if (!gpu.steps.steps.empty())
    facts.emplace_back("steps", fmt::format("{}, known from: {}", gpu.steps.steps.size(), to_string(gpu.steps.source)));
  facts.emplace_back("worth for predictions", std::string(gpu.confidence()));
}

}  // namespace

void write_profile(HtmlWriter& html, const ProfileSection& section) {
  const Trace& trace = *section.file->trace(TraceKind::kProfile);
  const std::string model = setting(trace, "model");
  html.open_section(fmt::format("Profile of {}", model.empty() ? section.file->path.filename().string() : model));
  html.paragraph("One model alone: what each of its ops takes, from which everything else is predicted.");
  std::vector<std::pair<std::string, std::string>> facts = {{"device", device_text(trace.info.device)}};
  for (const WallTimes& wall : trace.info.wall_times) facts.emplace_back(wall.what, wall_text(wall));
  if (const std::string lacking = setting(trace, std::string(kLacking)); !lacking.empty())
    facts.emplace_back("not timed", lacking);
  html.facts(facts);
  write_ops(html, section.ops);
  html.close_section();
}

void write_recording(HtmlWriter& html, const RecordingSection& section) {
  const Trace& trace = *section.file->trace();
  html.open_section(fmt::format("Recorded: {}", section.file->path.filename().string()));
  Facts facts = {{"device", device_text(trace.info.device)},
                 {"span", format_time(section.summary.span)},
                 {"slices", format_value(AxisUnit::kNumber, static_cast<double>(section.summary.slices))}};
  std::vector<std::string> shortcomings;
  if (section.gpu) {
    add_gpu_facts(*section.gpu, facts);
    for (const Shortcoming& each : section.gpu->shortcomings)
      shortcomings.push_back(fmt::format("{}: {}", each.what, each.effect));
  }
  html.facts(facts);
  html.list(shortcomings);
  const TimelineFigure figure = recorded_timeline(trace, section.gpu);
  if (figure.length() > Nanoseconds{}) {
    html.figure(draw(figure, kPageWidth),
                section.gpu
                    ? "What each stream of the device ran in a typical step, or in all of the trace where no step "
                      "is known; the names that take most time have a colour of their own."
                    : "The outermost slices of each thread; the names that take most time have a colour of their "
                      "own.");
  }
  if (section.gpu) {
    html.chart(kernels_chart(*section.gpu), 100 + 26 * static_cast<double>(section.gpu->top_kernels.size()),
               "Time of all calls of a kernel, over the whole trace.");
  }
  if (section.forecast) {
    html.open_section(fmt::format("{} of it together", section.forecast->answer.report.members));
    html.paragraph(
        "What its typical step is predicted to do when several such programs run together, from this trace alone.");
    write_forecast(html, *section.forecast, "what is recommended");
    html.close_section();
  }
  html.close_section();
}

}  // namespace cohort
