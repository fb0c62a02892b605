#include "cli/trace_planning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "cli/planning.hpp"
#include "cli/run_report.hpp"
#include "cli/trace_simulation.hpp"
#include "simulator/what_if/rank_what_ifs.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

Result<std::optional<Bytes>> memory_limit(const std::vector<std::string>& limits) {
  constexpr std::string_view kName = "memory=";
  std::optional<Bytes> limit;
  for (const std::string& text : limits) {
    if (!text.starts_with(kName))
      return fail(ErrorCode::kUsage, "--limit {}: of traces of runs only memory=BYTES; profiles have the rest", text);
    COHORT_TRY(limit, parse_bytes("--limit memory", std::string_view(text).substr(kName.size())));
  }
  return limit;
}

Result<WhatIf> base_of(const TracePlanningOptions& options) {
  WhatIf base;
  base.models = options.models;
  base.buffers = options.buffers;
  base.shared_input = options.shared_input;
  base.launch_threads = options.launch_threads.value_or(1);
  COHORT_TRY(base.gpu, gpu_figures(options.device_profile));
  return base;
}

/// "launch removal saves 5.19 ms, overlap costs 1.20 us; thread 7 busy 100%; confidence low: no figures of ..."
std::string why(const WhatIfPrediction& prediction) {
  std::string text;
  for (const GainPart& part : prediction.gain) {
    const bool saves = part.gain >= Nanoseconds(0);
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", part.cause, saves ? "saves" : "costs",
                        format_time(saves ? part.gain : -part.gain));
  }
  text += fmt::format("{}{} busy {:.0f}%; confidence {}", text.empty() ? "" : "; ", prediction.binding.resource,
                      100 * prediction.binding.utilisation, to_string(prediction.confidence()));
  if (!prediction.doubts.empty()) text += ": " + prediction.doubts.front().why;
  return text;
}

std::string print(const WhatIfRanking& ranking, const TracePlanningOptions& options) {
  const std::size_t shown = std::min(options.rows, ranking.ranked.size());
  std::string text = fmt::format("{:>3} {:>10} {:>8} {:>10}  {}\n", "", "step", "speedup", "at least", "way, and why");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, what_if, prediction] = ranking.ranked[i];
    text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  {}\n{:36}{}\n", i + 1, format_time(prediction.step_time),
                        prediction.speedup, format_time(prediction.lower_bound), name, "", why(prediction));
  }
  if (shown < ranking.ranked.size()) text += fmt::format("    ... and {} more\n", ranking.ranked.size() - shown);
  const WhatIfPrediction& best = ranking.ranked.front().prediction;
  text += fmt::format("{:>3} {:>10} {:>7.2f}x {:>10}  one after another (baseline)\n", "-", format_time(best.baseline),
                      1.0, "");
  if (best.speedup <= 1) text += "none gains: run these steps one after another\n";
  if (ranking.interrupted) text += "interrupted: the best of what was looked at by then\n";
  for (const RefusedWhatIf& refused : ranking.refused)
    text += fmt::format("not possible: {}: {}\n", refused.name, refused.reason);
  if (options.explain) {
    const std::string_view steps = best.members == 1 ? "step" : "members' steps";
    text += "\n" + to_text(best, fmt::format("{} {}", best.members, steps),
                           fmt::format("{:.1f} steps/s", best.steps_per_second), "");
  }
  return text;
}

ordered_json to_json(const WhatIfRanking& ranking) {
  ordered_json ranked = ordered_json::array();
  for (const auto& [name, what_if, prediction] : ranking.ranked) {
    ordered_json way = {{"name", name},
                        {"streams", what_if.streams ? ordered_json(*what_if.streams) : ordered_json()},
                        {"graphs", what_if.graphs},
                        {"launch_threads", what_if.launch_threads},
                        {"fuse", what_if.fuse == FuseChoice::kAuto ? "auto" : "none"},
                        {"steps_per_second", prediction.steps_per_second}};
    way.update(to_json(static_cast<const RunReport&>(prediction)));
    ranked.push_back(std::move(way));
  }
  ordered_json refused = ordered_json::array();
  for (const RefusedWhatIf& each : ranking.refused) refused.push_back({{"name", each.name}, {"reason", each.reason}});
  return {{"baseline_ns", ranking.ranked.front().prediction.baseline.count()},
          {"interrupted", ranking.interrupted},
          {"ranked", std::move(ranked)},
          {"refused", std::move(refused)}};
}

/// "qwen.json.gz" -> "qwen.predicted.json.gz", in the current folder.
std::filesystem::path output_for(const TracePlanningOptions& options) {
  if (!options.output.empty()) return options.output;
  std::string name = options.files.front().filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".sqlite"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name + ".predicted.json.gz";
}

}  // namespace

Result<void> plan_traces(const TracePlanningOptions& options, Trace first, const std::vector<StepOptions>& steps,
                         CommandContext& context) {
  COHORT_TRY(const WhatIf base, base_of(options));
  RankOptions rank;
  rank.launch_threads = !options.launch_threads.has_value();
  COHORT_TRY(rank.memory_limit, memory_limit(options.limits));
  rank.cancel = &context.cancel;
  rank.progress = [&](std::size_t done) { context.console.progress(fmt::format("simulated {} ways", done)); };
  const std::filesystem::path output = output_for(options);
  COHORT_CHECK(check_writable(output, context.overwrite));

  std::vector<Trace> traces;
  traces.push_back(std::move(first));
  WhatIfCase what_if_case;
  COHORT_CHECK(read_what_if_case(options.files, steps, std::nullopt, traces, what_if_case, context));
  COHORT_TRY(const WhatIfRanking ranking, rank_what_ifs(what_if_case, base, rank));
  context.console.clear_progress();
  COHORT_CHECK(write_trace(output, ranking.ranked.front().prediction.trace, context.overwrite));
  if (context.json) {
    ordered_json document = to_json(ranking);
    document["predicted"] = output.string();
    context.console.print_json(document);
  } else {
    context.console.print(print(ranking, options));
    context.console.note(
        fmt::format("wrote {}; cohort simulate with the options of a way says more of it", output.string()));
  }
  if (ranking.interrupted) return context.cancel.check();
  return {};
}

}  // namespace cohort
