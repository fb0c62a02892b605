#include "cli/trace_simulation.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/replay.hpp"
#include "tracer/trace_file.hpp"

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

Result<void> run_replay(const SharedSimulationOptions& shared, const StepOptions& options, CommandContext& context) {
  const std::filesystem::path& file = shared.files.front();
  COHORT_TRY(const Trace trace, read_trace(file));
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

ordered_json to_json(const BatchMemory& memory) {
  const auto bytes = [](const std::optional<Bytes>& value) {
    return value ? ordered_json(value->value) : ordered_json();
  };
  return {{"weights_bytes", bytes(memory.weights)},
          {"activations_and_workspace_bytes", bytes(memory.activations)},
          {"total_bytes", bytes(memory.total())},
          {"device_bytes", bytes(memory.device)},
          {"unknown", memory.unknown}};
}

void add_facts(const RunFacts& facts, ordered_json& json) {
  ordered_json parts = ordered_json::object();
  for (const PathPart& part : facts.parts) parts[part.what + "_ns"] = part.time.count();
  ordered_json path = ordered_json::array();
  for (const PathStep& step : facts.path) {
    path.push_back({{"task", step.name},
                    {"kind", to_string(step.kind)},
                    {"on", step.resource},
                    {"member", step.member},
                    {"start_ns", step.start.count()},
                    {"own_ns", step.own.count()},
                    {"wait_ns", step.wait.count()},
                    {"held_ns", step.held.count()}});
  }
  ordered_json tasks = ordered_json::array();
  for (const NamedTasks& task : facts.tasks) {
    tasks.push_back({{"task", task.name},
                     {"kind", to_string(task.kind)},
                     {"count", task.count},
                     {"time_ns", task.time.count()},
                     {"on_critical_path_ns", task.on_path.count()},
                     {"least_slack_ns", task.slack.count()}});
  }
  json["device_busy"] = facts.device_busy;
  json["sm_busy"] = facts.sm_busy ? ordered_json(*facts.sm_busy) : ordered_json();
  json["critical_path_parts"] = std::move(parts);
  json["critical_path"] = std::move(path);
  json["tasks"] = std::move(tasks);
}

ordered_json to_json(const WhatIfPrediction& prediction) {
  ordered_json gain = ordered_json::object();
  for (const GainPart& part : prediction.gain) gain[part.cause + "_ns"] = part.gain.count();
  ordered_json changes = ordered_json::array();
  for (const auto& [what, change] : prediction.changes) {
    changes.push_back({{"what", what},
                       {"tasks_added", change.tasks_added},
                       {"tasks_removed", change.tasks_removed},
                       {"tasks_changed", change.tasks_changed},
                       {"edges_added", change.edges_added},
                       {"edges_removed", change.edges_removed}});
  }
  ordered_json because = ordered_json::array();
  for (const Doubt& doubt : prediction.doubts) because.push_back({{"grave", doubt.grave}, {"why", doubt.why}});
  ordered_json json = {{"members", prediction.members},
                       {"traced_step_ns", prediction.single.count()},
                       {"baseline_ns", prediction.baseline.count()},
                       {"predicted_ns", prediction.step_time.count()},
                       {"predicted_speedup", prediction.speedup},
                       {"steps_per_second", prediction.steps_per_second},
                       {"lower_bound_ns", prediction.lower_bound.count()},
                       {"longest_path_ns", prediction.longest_path.count()},
                       {"device_time_ns", prediction.device_time.count()},
                       {"upper_bound_ns", prediction.upper_bound.count()},
                       {"without_contention_ns", prediction.without_contention.count()},
                       {"kernels_in_turn_ns", prediction.kernels_in_turn.count()},
                       {"binding", prediction.binding.resource},
                       {"binding_utilisation", prediction.binding.utilisation},
                       {"gain", std::move(gain)},
                       {"memory", to_json(prediction.memory)},
                       {"confidence", to_string(prediction.confidence())},
                       {"because", std::move(because)},
                       {"changes", std::move(changes)}};
  if (prediction.minibatch) {
    json["minibatch"] = {{"recorded", prediction.minibatch->recorded},
                         {"wanted", prediction.minibatch->wanted},
                         {"traced_step_ns", prediction.minibatch->traced.count()},
                         {"samples_per_second_ratio", prediction.minibatch->more_samples}};
  }
  add_facts(prediction.facts, json);
  return json;
}

std::string share_of(Nanoseconds part, Nanoseconds whole) {
  return fmt::format("{:.0f}%", whole > Nanoseconds(0) ? 100 * seconds(part) / seconds(whole) : 0.0);
}

/// Names of kernels are long: what stands before the arguments of templates and calls.
std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 60;
  std::string shorter = name.rfind("void ", 0) == 0 ? name.substr(5) : name;
  if (shorter.size() > kMost) shorter = shorter.substr(0, kMost - 3) + "...";
  return shorter;
}

std::string facts_text(const RunFacts& facts) {
  std::string text = fmt::format("device busy {:.0f}%", 100 * facts.device_busy);
  if (facts.sm_busy) text += fmt::format(", its multiprocessors {:.0f}%", 100 * *facts.sm_busy);
  text += "\ncritical path:";
  Nanoseconds whole{};
  for (const PathPart& part : facts.parts) whole += part.time;
  std::string_view separator = " ";
  for (const PathPart& part : facts.parts) {
    text += fmt::format("{}{} {}", separator, part.what, share_of(part.time, whole));
    separator = ", ";
  }
  text += '\n';
  constexpr std::size_t kMost = 3;
  for (std::size_t i = 0; i < std::min(kMost, facts.tasks.size()) && facts.tasks[i].on_path > Nanoseconds(0); ++i) {
    const NamedTasks& task = facts.tasks[i];
    text += fmt::format("  {} {} ({} of them): {} on it\n", to_string(task.kind), short_name(task.name), task.count,
                        share_of(task.on_path, whole));
  }
  return text;
}

std::string memory_text(const BatchMemory& memory) {
  if (!memory.unknown.empty()) return fmt::format("memory unknown: {}\n", memory.unknown);
  std::string text =
      fmt::format("memory about {} (weights and what outlives a step {}, activations and workspace {}",
                  format_bytes(memory.total().value_or(Bytes{})), format_bytes(memory.weights.value_or(Bytes{})),
                  format_bytes(memory.activations.value_or(Bytes{})));
  if (memory.device) text += fmt::format("; the device has {}", format_bytes(*memory.device));
  return text + ")\n";
}

std::string to_text(const WhatIfPrediction& prediction) {
  std::string text = fmt::format(
      "{} {}: {} predicted (at least {}, at most {}), {:.1f} steps/s, {} busy {:.0f}%\n"
      "one after another: {}; speedup {:.2f}x\n",
      prediction.members, prediction.members == 1 ? "step" : "members' steps", format_time(prediction.step_time),
      format_time(prediction.lower_bound), format_time(prediction.upper_bound), prediction.steps_per_second,
      prediction.binding.resource, 100 * prediction.binding.utilisation, format_time(prediction.baseline),
      prediction.speedup);
  for (const GainPart& part : prediction.gain) {
    const bool saves = part.gain >= Nanoseconds(0);
    text +=
        fmt::format("  {} {} {}\n", part.cause, saves ? "saves" : "costs", format_time(saves ? part.gain : -part.gain));
  }
  if (prediction.minibatch) {
    text +=
        fmt::format("minibatch {} instead of {}: a step alone takes {} instead of {}, {:.2f}x the samples a second\n",
                    prediction.minibatch->wanted, prediction.minibatch->recorded, format_time(prediction.single),
                    format_time(prediction.minibatch->traced), prediction.minibatch->more_samples);
  }
  text += facts_text(prediction.facts) + memory_text(prediction.memory);
  text += fmt::format("confidence {}\n", to_string(prediction.confidence()));
  for (const Doubt& doubt : prediction.doubts) text += fmt::format("  {}{}\n", doubt.grave ? "grave: " : "", doubt.why);
  return text;
}

Result<void> run_what_if(const SharedSimulationOptions& shared, const StepOptions& options, const WhatIf& what_if,
                         std::optional<int> second_minibatch, CommandContext& context) {
  std::vector<Trace> traces;
  traces.reserve(shared.files.size());
  WhatIfCase what_if_case;
  for (const std::filesystem::path& file : shared.files) {
    COHORT_TRY(Trace trace, read_trace(file));
    traces.push_back(std::move(trace));
    const auto added = second_minibatch && traces.size() == 2
                           ? what_if_case.add_second(traces.back(), options, *second_minibatch)
                           : what_if_case.add(traces.back(), options);
    if (!added) return in_context(file.string(), added.error());
    COHORT_CHECK(context.cancel.check());
  }
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

TraceSimulation::TraceSimulation(CLI::App& app) : steps_(app) {
  app.add_option("--fuse", fuse_,
                 "Of a run's trace: kernels made one for all members: none, auto, or names of kernels, ops or layers, "
                 "',' between them, '*' for any text")
      ->type_name("none|auto|OPS")
      ->capture_default_str();
  app.add_flag("--graphs", graphs_, "Of a run's trace: launches between waits become one graph launch");
  app.add_option("--workspace", workspace_, "Of a run's trace: limit of an op's scratch memory; needs alternatives")
      ->type_name("BYTES");
  app.add_option("--launch-threads", launch_threads_, "Of a run's trace: host threads that launch for members")
      ->capture_default_str();
  app.add_option("--scale", scale_, "Of a run's trace: kernels of that name, op or layer are x times faster")
      ->type_name("PATTERN=x");
  app.add_flag("--mixed-precision", mixed_precision_, "Of a run's trace: as if it computed in 16 bits");
  app.add_option("--device-profile", device_profile_,
                 "Of a run's trace: figures of its GPU (cohort calibrate --fit) instead of published ones")
      ->type_name("FILE");
  app.add_option("--minibatch", minibatch_,
                 "Of a run's trace: samples of a member's step; needs recorded shapes, or a second trace")
      ->type_name("N");
  app.add_option("--recorded-minibatch", recorded_minibatches_,
                 "Of the trace, where it does not say; A,B: of two traces of one model")
      ->delimiter(',')
      ->expected(1, 2)
      ->type_name("A[,B]");
  app.add_option("--copy-speed", copy_speed_, "Of a run's trace: copies from and to the host are x times faster")
      ->type_name("x");
}

bool TraceSimulation::asked() const {
  return fuse_ != "none" || graphs_ || !workspace_.empty() || launch_threads_ != 1 || !scale_.empty() ||
         mixed_precision_ || copy_speed_ != 1 || minibatch_ || !recorded_minibatches_.empty() ||
         !device_profile_.empty();
}

Result<WhatIf> TraceSimulation::what_if(const SharedSimulationOptions& shared) const {
  if (!workspace_.empty()) {
    return fail(ErrorCode::kNegativeAnswer,
                "--workspace {}: a trace of a run records one way of doing each op, not what others would take; plan "
                "with a profile (cohort plan PROFILE --limit workspace={})",
                workspace_, workspace_);
  }
  WhatIf what_if;
  what_if.models = shared.models.value_or(1);
  what_if.streams = shared.streams;
  what_if.buffers = shared.buffers;
  what_if.shared_input = shared.input == "shared";
  what_if.launch_threads = launch_threads_;
  what_if.graphs = graphs_;
  what_if.mixed_precision = mixed_precision_;
  what_if.copy_speed = copy_speed_;
  if (!device_profile_.empty()) {
    COHORT_TRY(const std::string text, read_file(device_profile_));
    auto gpu = parse_gpu_profile(text);
    if (!gpu) return in_context(device_profile_.string(), gpu.error());
    what_if.gpu = std::move(*gpu);
  }
  what_if.minibatch = minibatch_;
  if (!recorded_minibatches_.empty()) what_if.recorded_minibatch = recorded_minibatches_.front();
  if (recorded_minibatches_.size() == 2 && (!minibatch_ || shared.files.size() != 2)) {
    return fail(ErrorCode::kUsage, "--recorded-minibatch A,B: two traces of one model, and --minibatch");
  }
  if (fuse_ == "auto") {
    what_if.fuse = FuseChoice::kAuto;
  } else if (fuse_ != "none") {
    what_if.fuse = FuseChoice::kNamed;
    for (std::size_t start = 0; start <= fuse_.size();) {
      const std::size_t comma = std::min(fuse_.find(',', start), fuse_.size());
      what_if.fused.push_back(fuse_.substr(start, comma - start));
      if (what_if.fused.back().empty()) return fail(ErrorCode::kUsage, "--fuse '{}': an empty name", fuse_);
      start = comma + 1;
    }
  }
  for (const std::string& text : scale_) {
    COHORT_TRY(auto scale, parse_scale(text));
    what_if.scale.push_back(std::move(scale));
  }
  return what_if;
}

Result<void> TraceSimulation::run(const SharedSimulationOptions& shared, CommandContext& context) const {
  COHORT_TRY(const StepOptions options, steps_.options());
  COHORT_TRY(const WhatIf wanted, what_if(shared));
  if (!shared.output.empty()) COHORT_CHECK(check_writable(shared.output, context.overwrite));
  if (wanted.any() || shared.files.size() > 1) {
    std::optional<int> second;
    if (recorded_minibatches_.size() == 2) second = recorded_minibatches_.back();
    return run_what_if(shared, options, wanted, second, context);
  }
  return run_replay(shared, options, context);
}

}  // namespace cohort
