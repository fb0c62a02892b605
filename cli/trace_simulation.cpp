#include "cli/trace_simulation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cli/given_options.hpp"
#include "cli/list_option.hpp"
#include "cli/trace_notes.hpp"
#include "planning/gpu_figures.hpp"
#include "planning/trace_case.hpp"
#include "simulator/report/prediction_json.hpp"
#include "simulator/report/prediction_text.hpp"
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
  if (counts.device_span) {
    text += fmt::format(
        "; the host runs more than a step ahead: from its first call to its last kernel the step waits for what is "
        "before it, on the device it takes {}",
        format_time(*counts.device_span));
  }
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
  note_trace(file, trace, options, context.console);
  COHORT_CHECK(context.cancel.check());
  COHORT_TRY(const Replay result, replay(*trace_graph));
  if (!shared.output.empty()) {
    COHORT_TRY(const Schedule schedule, simulate(trace_graph->graph, SimulationOptions{}));
    const Trace timeline = timeline_trace(trace_graph->graph, schedule.tasks, trace.info.device);
    COHORT_CHECK(write_trace(shared.output, timeline, context.overwrite));
  }
  const TraceGraphCounts& counts = trace_graph->counts;
  const bool is_off = std::abs(result.relative_error) > kMostReplayError;
  if (context.json) {
    context.console.print_json(ordered_json{
        {"step", selection->step.name},
        {"traced_ns", result.traced.count()},
        {"simulated_ns", result.simulated.count()},
        {"relative_error", result.relative_error},
        {"confidence", is_off ? ordered_json("low") : ordered_json()},
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
        {"device_span_ns", counts.device_span ? ordered_json(counts.device_span->count()) : ordered_json()},
        {"launch_queue", counts.launch_queue ? ordered_json(*counts.launch_queue) : ordered_json()}});
    return {};
  }
  const double traced = seconds(result.traced);
  context.console.print(fmt::format(
      "{}: traced {}, simulated {} ({:+.3f}%), starts within {} at the 99th percentile ({:.3f}% of the window)\n{}\n",
      selection->step.name, format_time(result.traced), format_time(result.simulated), 100 * result.relative_error,
      format_time(result.start_error_p99), traced > 0 ? 100 * seconds(result.start_error_p99) / traced : 0.0,
      describe(counts, *trace_graph)));
  if (is_off) {
    context.console.print(
        "confidence low: what held the step up is not understood; no plan is made from it, choose another step\n");
  }
  return {};
}

/// Names what was asked for that one member of a trace has no use for.
void note_what_changes_nothing(const WhatIf& what_if, std::size_t traces, CommandContext& context) {
  if (what_if.most_models() > 1) return;
  std::vector<std::string_view> options;
  if (what_if.streams) options.push_back("--streams");
  if (what_if.launch_threads > 1 && traces == 1) options.push_back("--launch-threads");
  if (what_if.fuse != FuseChoice::kNone) options.push_back("--fuse");
  if (what_if.shared_input) options.push_back("--input shared");
  if (what_if.processes != Processes::kOne && traces == 1) options.push_back("--processes");
  if (options.empty()) return;
  context.console.note(fmt::format("{}: nothing changes with one member of a trace; --models N makes several",
                                   fmt::join(options, ", ")));
}

Result<void> run_what_if(const SharedSimulationOptions& shared, Trace first, const std::vector<StepOptions>& steps,
                         const WhatIf& what_if, std::optional<int> second_minibatch, CommandContext& context) {
  COHORT_TRY(const auto traces,
             TraceCase::read(shared.files, std::move(first), {steps, second_minibatch}, context.read));
  const WhatIfCase& what_if_case = traces->what_if_case();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const NamedTrace& named = traces->traces()[i];
    note_trace(named.file, *named.trace, steps[i], context.console);
  }
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

TraceSimulation::TraceSimulation(CLI::App& app) : TraceSimulation(app, app.get_options().size()) {}

TraceSimulation::TraceSimulation(CLI::App& app, std::size_t options_before) : steps_(app, TraceCount::kSeveral) {
  app.add_option("--scale", scale_, "Traces only: make kernels of this name, op or layer x times faster; repeatable")
      ->type_name("PATTERN=x")
      ->allow_extra_args(false);
  app.add_flag("--mixed-precision", mixed_precision_,
               "Traces only: compute in 16 bits: matrix products 3 times and all else 2 times as fast, but for kernels "
               "that do so already");
  app.add_option(
         "--processes", processes_,
         "Traces of GPUs only: run each member in a process of its own, under MPS or with the GPU's time slicing")
      ->check(CLI::IsMember({std::string(to_string(Processes::kMps)), std::string(to_string(Processes::kTimeSlicing))}))
      ->type_name("mps|time-slicing");
  app.add_option("--minibatch", minibatch_,
                 "Traces only: samples per step of a member; needs recorded shapes or a second trace")
      ->type_name("N");
  add_list_option(
      app, "--recorded-minibatch", recorded_minibatches_, parse_count,
      "Traces only: minibatch of the recording, where the trace does not say; A,B for two traces of one model")
      ->type_name("A[,B]");
  app.add_option("--copy-speed", copy_speed_, "Traces only: make copies to and from the host x times faster")
      ->type_name("x");
  app.add_option("--interconnect-speed", interconnect_speed_,
                 "Traces only: make copies between GPUs and collectives (NCCL, RCCL, MSCCL) x times faster")
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
  if (!processes_.empty())
    what_if.processes = processes_ == to_string(Processes::kMps) ? Processes::kMps : Processes::kTimeSlicing;
  what_if.mixed_precision = mixed_precision_;
  what_if.copy_speed = copy_speed_;
  what_if.interconnect_speed = interconnect_speed_;
  COHORT_TRY(what_if.gpu, gpu_figures(shared.device_profile));
  what_if.minibatch = minibatch_;
  if (!recorded_minibatches_.empty()) what_if.recorded_minibatch = recorded_minibatches_.front();
  if (recorded_minibatches_.size() > 2) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch: {} values; give one, or A,B for two traces of one model",
                recorded_minibatches_.size());
  }
  if (recorded_minibatches_.size() == 2 && shared.files.size() != 2) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch A,B needs two traces of one model, not {}",
                shared.files.size());
  }
  if (!recorded_minibatches_.empty() && !minibatch_) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch needs --minibatch");
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
