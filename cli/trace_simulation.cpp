#include "cli/trace_simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/file.hpp"
#include "cli/given_options.hpp"
#include "cli/list_option.hpp"
#include "cli/run_report.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/what_if/replay.hpp"
#include "simulator/what_if/timeline_trace.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

std::string describe(const TraceGraphCounts& counts, const TraceGraph& trace_graph) {
  std::string text = fmt::format("{} calls, {} ops of device work, {} tasks", counts.calls, counts.ops,
                                 trace_graph.graph.tasks.size());
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) text += fmt::format("; {} {}", count, what);
  };
  add(counts.without_launch_record, "without a launch record, pinned to their start");
  add(counts.launched_before, "in flight when the window begins, pinned");
  add(counts.nested_calls, "nested calls dropped");
  add(counts.overlaps, "overlap the op ahead on their stream");
  add(counts.graph_launches, "launches of several ops");
  add(counts.waits, "calls that wait");
  add(counts.inferred_waits, "of these inferred");
  add(counts.unresolved_waits, "waiting calls of kept length");
  add(counts.handoffs, "threads woken by another");
  if (counts.launch_queue) text += fmt::format("; launches wait once {} ops are queued", *counts.launch_queue);
  return text;
}

Result<void> run_replay(const SharedSimulationOptions& shared, const Trace& trace, const StepOptions& options,
                        CommandContext& context) {
  const std::filesystem::path& file = shared.files.front();
  auto selection = select_replay_step(trace, options);
  if (!selection) return in_context(file.string(), selection.error());
  TraceGraphOptions graph_options;
  if (selection->source != StepSource::kWholeTrace) graph_options.window = selection->step.window;
  const auto trace_graph = build_trace_graph(trace, graph_options);
  if (!trace_graph) return in_context(file.string(), trace_graph.error());
  COHORT_CHECK(context.cancel.check());
  COHORT_TRY(const Replay result, replay(*trace_graph));
  if (!shared.output.empty()) {
    COHORT_TRY(const Schedule schedule, simulate(trace_graph->graph, SimulationOptions{}));
    const Trace timeline = timeline_trace(trace_graph->graph, schedule.tasks, trace.info.device);
    COHORT_CHECK(write_trace(shared.output, timeline, context.overwrite));
  }
  const TraceGraphCounts& counts = trace_graph->counts;
  if (context.json) {
    context.console.print_json(
        ordered_json{{"step", selection->step.name},
                     {"traced_ns", result.traced.count()},
                     {"simulated_ns", result.simulated.count()},
                     {"relative_error", result.relative_error},
                     {"start_error_p99_ns", result.start_error_p99.count()},
                     {"tasks_compared", result.tasks},
                     {"calls", counts.calls},
                     {"device_ops", counts.ops},
                     {"without_launch_record", counts.without_launch_record},
                     {"in_flight_at_start", counts.launched_before},
                     {"nested_calls", counts.nested_calls},
                     {"overlaps", counts.overlaps},
                     {"graph_launches", counts.graph_launches},
                     {"waits", counts.waits},
                     {"inferred_waits", counts.inferred_waits},
                     {"unresolved_waits", counts.unresolved_waits},
                     {"handoffs", counts.handoffs},
                     {"launch_queue", counts.launch_queue ? ordered_json(*counts.launch_queue) : ordered_json()}});
    return {};
  }
  const double traced = seconds(result.traced);
  context.console.print(fmt::format(
      "{}: traced {}, simulated {} ({:+.3f}%), starts within {} at the 99th percentile ({:.3f}% of the window)\n{}\n",
      selection->step.name, format_time(result.traced), format_time(result.simulated), 100 * result.relative_error,
      format_time(result.start_error_p99), traced > 0 ? 100 * seconds(result.start_error_p99) / traced : 0.0,
      describe(counts, *trace_graph)));
  return {};
}

ordered_json to_json(const WhatIfPrediction& prediction) {
  ordered_json json = to_json(static_cast<const RunReport&>(prediction));
  json["traced_step_ns"] = prediction.single.count();
  json["steps_per_second"] = prediction.steps_per_second;
  json["longest_path_ns"] = prediction.longest_path.count();
  json["device_time_ns"] = prediction.device_time.count();
  ordered_json& changes = json["changes"] = ordered_json::array();
  for (const auto& [what, change] : prediction.changes) {
    changes.push_back({{"what", what},
                       {"tasks_added", change.tasks_added},
                       {"tasks_removed", change.tasks_removed},
                       {"tasks_changed", change.tasks_changed},
                       {"edges_added", change.edges_added},
                       {"edges_removed", change.edges_removed}});
  }
  if (prediction.minibatch) {
    json["minibatch"] = {{"recorded", prediction.minibatch->recorded},
                         {"wanted", prediction.minibatch->wanted},
                         {"traced_step_ns", prediction.minibatch->traced.count()},
                         {"samples_per_second_ratio", prediction.minibatch->more_samples}};
  }
  return json;
}

std::string to_text(const WhatIfPrediction& prediction) {
  std::string more;
  if (prediction.minibatch) {
    more =
        fmt::format("minibatch {} instead of {}: a step alone takes {} instead of {}, {:.2f}x the samples a second\n",
                    prediction.minibatch->wanted, prediction.minibatch->recorded, format_time(prediction.single),
                    format_time(prediction.minibatch->traced), prediction.minibatch->more_samples);
  }
  const std::string_view steps = prediction.members == 1 ? "step" : "members' steps";
  return to_text(prediction, fmt::format("{} {}", prediction.members, steps),
                 fmt::format("{:.1f} steps/s", prediction.steps_per_second), more);
}

/// Names what was asked for that one member of a trace has no use for.
void note_what_changes_nothing(const WhatIf& what_if, std::size_t traces, CommandContext& context) {
  if (what_if.most_models() > 1) return;
  std::vector<std::string_view> options;
  if (what_if.streams) options.push_back("--streams");
  if (what_if.launch_threads > 1 && traces == 1) options.push_back("--launch-threads");
  if (what_if.fuse != FuseChoice::kNone) options.push_back("--fuse");
  if (what_if.shared_input) options.push_back("--input shared");
  if (options.empty()) return;
  context.console.note(fmt::format("{}: nothing changes with one member of a trace; --models N makes several",
                                   fmt::join(options, ", ")));
}

Result<void> run_what_if(const SharedSimulationOptions& shared, Trace first, const std::vector<StepOptions>& steps,
                         const WhatIf& what_if, std::optional<int> second_minibatch, CommandContext& context) {
  std::vector<Trace> traces;
  traces.push_back(std::move(first));
  WhatIfCase what_if_case;
  COHORT_CHECK(read_what_if_case(shared.files, steps, second_minibatch, traces, what_if_case, context));
  note_what_changes_nothing(what_if, what_if_case.traces.size(), context);
  COHORT_TRY(const WhatIfPrediction prediction, predict_what_if(what_if_case, what_if));
  if (!shared.output.empty()) COHORT_CHECK(write_trace(shared.output, prediction.trace, context.overwrite));
  if (context.json) {
    context.console.print_json(to_json(prediction));
  } else {
    context.console.print(to_text(prediction));
  }
  if (!shared.output.empty()) context.console.note(fmt::format("wrote {}", shared.output.string()));
  return {};
}

/// "PATTERN=x". Errors: kUsage.
Result<std::pair<std::string, double>> parse_scale(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  double times = 0;
  if (equals != std::string::npos && equals > 0) {
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + equals + 1, end, times);
    if (error == std::errc() && last == end && times > 0) return std::pair(text.substr(0, equals), times);
  }
  return fail(ErrorCode::kUsage, "--scale '{}': write it as PATTERN=x, x times faster", text);
}

}  // namespace

Result<void> read_what_if_case(const std::vector<std::filesystem::path>& files, const std::vector<StepOptions>& steps,
                               std::optional<int> second_minibatch, std::vector<Trace>& traces,
                               WhatIfCase& what_if_case, CommandContext& context) {
  traces.reserve(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::filesystem::path& file = files[i];
    if (i > 0) {
      COHORT_TRY(Trace trace, read_trace(file, context.read));
      traces.push_back(std::move(trace));
    }
    if (traces[i].info.kind == TraceKind::kProfile) {
      return fail(ErrorCode::kInvalidInput, "{} is a profile and {} the trace of a run: take either of them",
                  file.string(), files.front().string());
    }
    const auto added = second_minibatch && i == 1
                           ? what_if_case.add_second(traces[i], steps[i], *second_minibatch, file.string())
                           : what_if_case.add(traces[i], steps[i], file.string());
    if (!added) return in_context(file.string(), added.error());
    COHORT_CHECK(context.cancel.check());
  }
  return {};
}

Result<std::optional<GpuProfile>> gpu_figures(const std::filesystem::path& file) {
  if (file.empty()) return std::nullopt;
  COHORT_TRY(const std::string text, read_file(file));
  auto gpu = parse_gpu_profile(text);
  if (!gpu) return in_context(file.string(), gpu.error());
  return std::optional(std::move(*gpu));
}

TraceSimulation::TraceSimulation(CLI::App& app) : TraceSimulation(app, app.get_options().size()) {}

TraceSimulation::TraceSimulation(CLI::App& app, std::size_t options_before) : steps_(app, TraceCount::kSeveral) {
  app.add_option("--scale", scale_, "Of a run's trace: kernels of that name, op or layer are x times faster")
      ->type_name("PATTERN=x");
  app.add_flag("--mixed-precision", mixed_precision_, "Of a run's trace: as if all of it computed in 16 bits");
  app.add_option("--minibatch", minibatch_,
                 "Of a run's trace: samples of a member's step; needs recorded shapes, or a second trace")
      ->type_name("N");
  add_list_option(app, "--recorded-minibatch", recorded_minibatches_, parse_count,
                  "Of the trace, where it does not say; A,B: of two traces of one model")
      ->type_name("A[,B]");
  app.add_option("--copy-speed", copy_speed_, "Of a run's trace: copies from and to the host are x times faster")
      ->type_name("x");
  app.add_option("--interconnect-speed", interconnect_speed_,
                 "Of a run's trace: copies between GPUs and collectives (NCCL, RCCL, MSCCL) are x times faster")
      ->type_name("x");
  const std::vector<CLI::Option*> all = app.get_options();
  options_.assign(all.begin() + static_cast<std::ptrdiff_t>(options_before), all.end());
}

std::vector<std::string> TraceSimulation::given() const { return cohort::given(options_); }

Result<WhatIf> TraceSimulation::what_if(const SharedSimulationOptions& shared) const {
  if (shared.workspace) {
    return fail(ErrorCode::kNegativeAnswer,
                "--workspace: {} is the trace of a run and records one way of doing each op; what is missing are the "
                "other algorithms of its ops, each with its time and workspace. A profile has them: cohort profile "
                "MODEL, then cohort simulate PROFILE --workspace {}",
                shared.files.front().string(), shared.workspace->value);
  }
  WhatIf what_if;
  what_if.models = shared.models;
  what_if.streams = shared.streams;
  what_if.buffers = shared.buffers;
  what_if.shared_input = shared.input == "shared";
  what_if.launch_threads = shared.launch_threads;
  what_if.graphs = shared.graphs;
  what_if.fuse = shared.fuse.choice;
  what_if.fused = shared.fuse.names;
  what_if.mixed_precision = mixed_precision_;
  what_if.copy_speed = copy_speed_;
  what_if.interconnect_speed = interconnect_speed_;
  COHORT_TRY(what_if.gpu, gpu_figures(shared.device_profile));
  what_if.minibatch = minibatch_;
  if (!recorded_minibatches_.empty()) what_if.recorded_minibatch = recorded_minibatches_.front();
  if (recorded_minibatches_.size() > 2) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch: {} values; give one, or A,B of two traces of one model",
                recorded_minibatches_.size());
  }
  if (recorded_minibatches_.size() == 2 && shared.files.size() != 2) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch A,B: of two traces of one model, not {}", shared.files.size());
  }
  if (!recorded_minibatches_.empty() && !minibatch_) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch: --minibatch says which one is asked for");
  }
  for (const std::string& text : scale_) {
    COHORT_TRY(auto scale, parse_scale(text));
    what_if.scale.push_back(std::move(scale));
  }
  return what_if;
}

Result<void> TraceSimulation::run(const SharedSimulationOptions& shared, Trace first, CommandContext& context) const {
  COHORT_TRY(const std::vector<StepOptions> steps, steps_.options(shared.files.size()));
  COHORT_TRY(const WhatIf wanted, what_if(shared));
  if (!shared.output.empty()) COHORT_CHECK(check_writable(shared.output, context.overwrite));
  if (wanted.any() || shared.files.size() > 1) {
    std::optional<int> second;
    if (recorded_minibatches_.size() == 2) second = recorded_minibatches_.back();
    return run_what_if(shared, std::move(first), steps, wanted, second, context);
  }
  return run_replay(shared, first, steps.front(), context);
}

}  // namespace cohort
