#include "cli/trace_planning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "cli/planning_options.hpp"
#include "cli/trace_notes.hpp"
#include "planning/gpu_figures.hpp"
#include "planning/trace_case.hpp"
#include "simulator/report/prediction_text.hpp"
#include "simulator/report/ranking_json.hpp"
#include "simulator/report/ranking_text.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

Result<std::optional<Bytes>> memory_limit(const std::vector<std::string>& limits) {
  constexpr std::string_view kName = "memory=";
  std::optional<Bytes> limit;
  for (const std::string& text : limits) {
    if (!text.starts_with(kName))
      return fail(ErrorCode::kUsage, "--limit {}: traces of runs only take memory=BYTES; profiles take the others",
                  text);
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

  COHORT_TRY(const auto traces, TraceCase::read(options.files, std::move(first), {steps}, context.read));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const NamedTrace& named = traces->traces()[i];
    note_trace(named.file, *named.trace, steps[i], context.console);
  }
  COHORT_TRY(const WhatIfRanking ranking, rank_what_ifs(traces->what_if_case(), base, rank));
  context.console.clear_progress();
  COHORT_CHECK(write_trace(output, ranking.ranked.front().prediction.trace, context.overwrite));
  if (context.json) {
    ordered_json document = to_json(ranking);
    document["predicted"] = output.string();
    context.console.print_json(document);
  } else {
    std::string text = print(ranking, options.rows);
    if (options.explain) text += "\n" + to_text(ranking.ranked.front().prediction);
    context.console.print(text);
    context.console.note(
        fmt::format("wrote {}; cohort simulate with the options of a way says more of it", output.string()));
  }
  if (ranking.interrupted) return context.cancel.check();
  return {};
}

}  // namespace cohort
