#include "simulator/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/recorded_gpu_work.hpp"
#include "simulator/transform/buffers.hpp"
#include "simulator/transform/edit.hpp"
#include "simulator/transform/graph_launch.hpp"
#include "simulator/transform/merge.hpp"
#include "simulator/transform/replicate.hpp"
#include "simulator/transform/select.hpp"

namespace cohort {
namespace {

/// Steps simulated where input is made ahead: the first ones fill the buffers.
constexpr int kSteps = 8;
constexpr int kFillingSteps = 4;

/// Speed-ups that mixed precision is known for: matrix products and convolutions on tensor cores, all else by the
/// halved traffic. Source: Zhu et al., "Daydream", USENIX ATC 2020, section 5.
constexpr double kTensorCores = 3;
constexpr double kHalvedTraffic = 2;

Selection device_work(const TaskGraph& graph, const Selection& of) {
  Selection work;
  for (const TaskId id : of) {
    const TaskKind kind = graph.task(id).kind;
    if (is_device_work(kind) || kind == TaskKind::kStep) work.push_back(id);
  }
  return work;
}

bool is_host_copy(const TaskGraph& graph, const Task& task, bool to_device_only) {
  if (task.kind != TaskKind::kCopy) return false;
  const std::string& name = graph.labels[to_index(task.label)];
  return name.find("HtoD") != std::string::npos || (!to_device_only && name.find("DtoH") != std::string::npos);
}

/// Tasks recorded for the launch of these ops and no others: the calls, the host's work before them, their waits.
Selection launches_of(const TaskGraph& graph, const std::vector<bool>& ops) {
  using Call = std::tuple<std::uint32_t, std::int32_t, std::int32_t>;  // slice, member, iteration
  std::vector<Call> calls;
  std::vector<Call> others;
  for (const Edge& edge : graph.edges) {
    if (edge.kind != EdgeKind::kLaunch) continue;
    const Task& call = graph.task(edge.from);
    if (call.step) (ops[to_index(edge.to)] ? calls : others).emplace_back(*call.step, call.member, call.iteration);
  }
  std::sort(calls.begin(), calls.end());
  std::sort(others.begin(), others.end());
  return select(graph, [&](const Task& task) {
    if (!task.step || is_device_work(task.kind)) return false;
    const Call call(*task.step, task.member, task.iteration);
    return std::binary_search(calls.begin(), calls.end(), call) &&
           !std::binary_search(others.begin(), others.end(), call);
  });
}

/// Which parts of a what-if are in force: it is walked through one by one to tell what each gains.
struct Stage {
  bool retimed = false, graphs = false, shared = false, together = false, fused = false;
};

class Predictor {
 public:
  Predictor(const WhatIfCase& what_if_case, const WhatIf& what_if) : case_(what_if_case), what_if_(what_if) {
    steps_ = what_if.buffers ? kSteps : 1;
    for (const TraceGraph& graph : case_.graphs) {
      on_host_ = on_host_ && graph.counts.calls == 0 &&
                 std::none_of(graph.graph.tasks.begin(), graph.graph.tasks.end(),
                              [](const Task& task) { return is_device_work(task.kind); });
    }
    for (const Trace* trace : case_.traces) {
      const auto profile = published_gpu_profile(trace->info.device.name);
      if (!profile) unknown_devices_.push_back(trace->info.device.name);
      launch_costs_.push_back(profile ? profile->launch : LaunchCosts{});
      known_.push_back(profile.has_value());
      if (profile && !gpu_) gpu_ = profile;
      cores_ = std::max(cores_, trace->info.device.cores);
    }
  }

  Result<WhatIfPrediction> run() {
    WhatIfPrediction result;
    result.members = case_.graphs.size() * static_cast<std::size_t>(what_if_.models);
    Stage stage;
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_TRY(const Schedule alone, simulate(case_.graphs[i].graph, SimulationOptions{}));
      result.single += alone.makespan;
    }
    COHORT_TRY(result.baseline, time_of(stage));
    COHORT_CHECK(walk(stage, result));
    COHORT_CHECK(finish(stage, result));
    say_confidence(result);
    return result;
  }

 private:
  /// Switches one part on after another; what time each saves is its part of the gain.
  Result<void> walk(Stage& stage, WhatIfPrediction& result) {
    Nanoseconds last = result.baseline;
    const auto go = [&](std::string_view cause, bool Stage::*part, bool wanted) -> Result<void> {
      if (!wanted) return {};
      stage.*part = true;
      COHORT_TRY(const Nanoseconds time, time_of(stage));
      result.gain.push_back({std::string(cause), last - time});
      last = time;
      return {};
    };
    const bool several = result.members > 1;
    COHORT_CHECK(go("faster tasks", &Stage::retimed,
                    !what_if_.scale.empty() || what_if_.mixed_precision || what_if_.copy_speed != 1));
    COHORT_CHECK(go("launch removal", &Stage::graphs, what_if_.graphs));
    COHORT_CHECK(go("sharing", &Stage::shared, what_if_.shared_input && what_if_.models > 1));
    COHORT_CHECK(go("overlap", &Stage::together, several || what_if_.buffers.has_value()));
    COHORT_CHECK(go("fusion", &Stage::fused, what_if_.fuse != FuseChoice::kNone && what_if_.models > 1));
    result.step_time = last;
    return {};
  }

  Result<void> finish(const Stage& stage, WhatIfPrediction& result) {
    changes_ = &result.changes;
    std::vector<RecordedTasks> parts;
    COHORT_TRY(const TaskGraph graph, whole(stage, steps_, parts));
    changes_ = nullptr;
    COHORT_TRY(const Schedule schedule, run_graph(graph, stage, parts));
    result.longest_path = schedule.longest_path / steps_;
    result.device_time = schedule.device_time / steps_;
    result.lower_bound = schedule.lower_bound / steps_;
    if (steps_ > 1) result.lower_bound = std::min(result.lower_bound, result.step_time);  // the first steps fill buffers
    result.binding = schedule.binding;
    Stage alone = stage;
    alone.together = alone.fused = alone.shared = false;
    COHORT_TRY(result.upper_bound, one_by_one(alone));
    if (result.step_time > Nanoseconds(0)) {
      result.speedup = seconds(result.baseline) / seconds(result.step_time);
      result.steps_per_second = static_cast<double>(result.members) / seconds(result.step_time);
    }
    result.trace = timeline_trace(graph, schedule.tasks, case_.traces.front()->info.device);
    result.trace.info.wall_times.push_back({"plan", {result.step_time}, 0});
    return {};
  }

  Result<Nanoseconds> time_of(const Stage& stage) {
    if (steps_ == 1) return time_of(stage, 1);
    COHORT_TRY(const Nanoseconds all, time_of(stage, kSteps));
    COHORT_TRY(const Nanoseconds filling, time_of(stage, kFillingSteps));
    return (all - filling) / (kSteps - kFillingSteps);
  }

  Result<Nanoseconds> time_of(const Stage& stage, int steps) {
    if (stage.together) {
      std::vector<RecordedTasks> parts;
      COHORT_TRY(const TaskGraph graph, whole(stage, steps, parts));
      COHORT_TRY(const Schedule schedule, run_graph(graph, stage, parts));
      return schedule.makespan;
    }
    Nanoseconds sum{};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_TRY(const TaskGraph graph, members_of(i, stage, steps));
      COHORT_TRY(const Schedule schedule, run_graph(graph, stage, {}));
      sum += schedule.makespan;
    }
    return sum;
  }

  Result<Nanoseconds> one_by_one(const Stage& stage) {
    Nanoseconds sum{};
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      TaskGraph graph = case_.graphs[i].graph;
      COHORT_CHECK(change_one(i, stage, 1, graph));
      COHORT_TRY(const Schedule schedule, simulate(graph, SimulationOptions{}));
      sum += schedule.makespan * what_if_.models;
    }
    return sum;
  }

  Result<Schedule> run_graph(const TaskGraph& graph, const Stage& stage, std::span<const RecordedTasks> parts) const {
    SimulationOptions options;
    if (on_host_) {
      options.device.cores = cores_;
      return simulate(graph, options);
    }
    options.share_multiprocessors = stage.together;
    if (stage.together && gpu_ && unknown_devices_.empty()) {
      COHORT_TRY(options.gpu, recorded_gpu_work(graph, parts, *gpu_));
    }
    return simulate(graph, options);
  }

  Result<TaskGraph> whole(const Stage& stage, int steps, std::vector<RecordedTasks>& parts) {
    TaskGraph graph;
    for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
      COHORT_TRY(const TaskGraph members, members_of(i, stage, steps));
      const std::size_t first = graph.tasks.size();
      append(graph, members);
      parts.push_back({case_.traces[i], first, graph.tasks.size()});
    }
    if (stage.together && case_.graphs.size() > 1) {  // one lock and one set of engines for all
      for (Task& task : graph.tasks) task.holds.reset();
      hold_shared_engines(graph, true);
    }
    return graph;
  }

  Result<TaskGraph> members_of(std::size_t index, const Stage& stage, int steps) {
    TaskGraph graph = case_.graphs[index].graph;
    COHORT_CHECK(change_one(index, stage, steps, graph));
    if (on_host_) take_cores(*case_.traces[index], graph);
    ReplicateOptions options;
    options.members = what_if_.models;
    options.stream_gap = case_.graphs[index].typical.stream_gap;
    options.turns = stage.together ? Turns::kInterleaved : Turns::kWhole;
    if (stage.together) {
      options.stream_sets = std::min(what_if_.models, what_if_.streams.value_or(what_if_.models));
      options.thread_sets = std::min(what_if_.models, what_if_.launch_threads);
    }
    COHORT_CHECK(note("replicate", replicate(graph, options)));
    if (stage.shared) COHORT_CHECK(share_input(graph));
    if (stage.fused) COHORT_CHECK(fuse(index, graph));
    return graph;
  }

  /// A CPU's tasks ask for the threads that they were recorded with.
  void take_cores(const Trace& trace, TaskGraph& graph) const {
    for (Task& task : graph.tasks) {
      if (task.kind != TaskKind::kStep || !task.step) continue;
      const std::int64_t threads = trace.integer_arg(trace.slices[*task.step], "threads").value_or(1);
      task.cores = static_cast<int>(std::clamp(threads, std::int64_t{1}, std::int64_t{cores_}));
    }
  }

  Result<void> change_one(std::size_t index, const Stage& stage, int steps, TaskGraph& graph) {
    if (stage.retimed) COHORT_CHECK(retime_tasks(graph));
    if (stage.graphs) COHORT_CHECK(note("graphs", collapse_to_graphs(graph, graph_costs(index))));
    if (steps > 1) COHORT_CHECK(note("repeat", repeat(graph, steps, case_.graphs[index].typical.stream_gap)));
    if (what_if_.buffers && stage.together) {
      const Selection copies = select(graph, [&](const Task& task) { return is_host_copy(graph, task, true); });
      if (copies.empty()) return fail(ErrorCode::kNegativeAnswer, "--buffers: the step copies nothing to the device");
      COHORT_CHECK(buffer_input(graph, copies));
    }
    return {};
  }

  /// Copies go to a stream and a thread of their own, as far ahead as there are buffers.
  Result<void> buffer_input(TaskGraph& graph, const Selection& copies) {
    COHORT_TRY(std::vector<bool> mask, mask_of(graph, copies));
    const ResourceId thread = graph.add_resource("input thread", ResourceKind::kHostThread);
    const ResourceId stream = graph.add_resource("input stream", ResourceKind::kStream, Discipline::kOverlapping);
    graph.resources.back().device = graph.resources[to_index(graph.task(copies.front()).resource)].device;
    const Selection consumers = select(graph, [&](const Task& task) { return task.kind == TaskKind::kKernel; });
    // What follows a copy on its stream needs the data: that edge stays, as an event.
    const Selection launches = launches_of(graph, mask);
    std::vector<Edge> events;
    for (Edge edge : graph.edges) {
      if (edge.kind != EdgeKind::kStreamOrder || !mask[to_index(edge.from)] || mask[to_index(edge.to)]) continue;
      edge.kind = EdgeKind::kEvent;
      events.push_back(edge);
    }
    graph.edges.insert(graph.edges.end(), events.begin(), events.end());
    COHORT_CHECK(note("reschedule input", reschedule(graph, copies, stream, Nanoseconds(0))));
    for (const TaskId id : launches) graph.tasks[to_index(id)].resource = thread;
    Selection producers = copies;
    producers.insert(producers.end(), launches.begin(), launches.end());
    std::sort(producers.begin(), producers.end());
    return note("double buffer", double_buffer(graph, producers, consumers, *what_if_.buffers));
  }

  Result<void> retime_tasks(TaskGraph& graph) {
    for (const auto& [pattern, times] : what_if_.scale) {
      const Selection named = device_work(graph, select_named(graph, pattern));
      if (named.empty()) {
        return fail(ErrorCode::kNegativeAnswer, "--scale {}: no kernel, op or layer of the step has such a name",
                    pattern);
      }
      COHORT_CHECK(note("scale " + pattern, scale(graph, named, times)));
    }
    if (what_if_.mixed_precision) {
      for (const bool products : {true, false}) {
        const Selection kernels = select(graph, [&](const Task& task) {
          return task.kind == TaskKind::kKernel && is_matrix_product(graph.labels[to_index(task.label)]) == products;
        });
        COHORT_CHECK(note("mixed precision", scale(graph, kernels, products ? kTensorCores : kHalvedTraffic)));
      }
    }
    if (what_if_.copy_speed != 1) {
      const Selection copies = select(graph, [&](const Task& task) { return is_host_copy(graph, task, false); });
      if (copies.empty()) {
        return fail(ErrorCode::kNegativeAnswer, "--copy-speed: the step copies nothing from or to the host");
      }
      COHORT_CHECK(note("copy speed", scale(graph, copies, what_if_.copy_speed)));
    }
    return {};
  }

  Result<void> share_input(TaskGraph& graph) {
    std::vector<bool> copies(graph.tasks.size(), false);
    Selection shared;
    for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
      copies[i] = is_host_copy(graph, graph.tasks[i], true);
      if (copies[i]) shared.push_back(TaskId(i));
    }
    if (shared.empty()) {
      return fail(ErrorCode::kNegativeAnswer, "--input shared: the step copies nothing to the device");
    }
    const Selection launches = launches_of(graph, copies);
    shared.insert(shared.end(), launches.begin(), launches.end());
    std::sort(shared.begin(), shared.end());
    return note("share input", share(graph, groups_across_members(graph, shared)));
  }

  /// One kernel for all members: its blocks are all of theirs, in as many waves as they then take.
  ///   T' = t0 + ceil(N W) / ceil(W) (T - t0), W waves of one, t0 what no block takes
  [[nodiscard]] Fusion fusion_of(std::size_t index, const TaskGraph& graph, const Selection& group) const {
    const Task& task = graph.task(group.front());
    const Nanoseconds fixed = std::min(task.duration, launch_costs_[index].kernel_fixed);
    const double waves = task.waves > 0 ? static_cast<double>(task.waves) : 1;
    const double times = std::ceil(waves * static_cast<double>(group.size())) / std::ceil(waves);
    const auto work = static_cast<double>((task.duration - fixed).count());
    return {group, fixed + Nanoseconds(std::llround(work * times)), static_cast<float>(waves) * static_cast<float>(group.size())};
  }

  Result<void> fuse(std::size_t index, TaskGraph& graph) {
    Selection chosen;
    if (what_if_.fuse == FuseChoice::kNamed) {
      for (const std::string& pattern : what_if_.fused) {
        const Selection named = device_work(graph, select_named(graph, pattern));
        if (named.empty()) {
          return fail(ErrorCode::kNegativeAnswer, "--fuse {}: no kernel, op or layer of the step has such a name",
                      pattern);
        }
        chosen.insert(chosen.end(), named.begin(), named.end());
      }
      std::sort(chosen.begin(), chosen.end());
      chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    } else {
      constexpr float kLeavesRoom = 0.5F;
      chosen = select(graph, [&](const Task& task) {
        return task.kind == TaskKind::kKernel && task.waves > 0 && task.waves <= kLeavesRoom;
      });
    }
    std::vector<Fusion> fusions;
    for (const Selection& group : groups_across_members(graph, chosen)) {
      fusions.push_back(fusion_of(index, graph, group));
    }
    auto change = merge(graph, fusions);
    if (!change) return in_context("fuse", change.error());
    std::vector<bool> fused(graph.tasks.size(), false);
    for (const TaskId id : chosen) {
      if (const auto now = change->moved[to_index(id)]) fused[to_index(*now)] = true;
    }
    COHORT_CHECK(note("fuse", std::move(change)));
    // One launch does for all, and what the host does before it.
    return note("share launches", share(graph, groups_across_members(graph, launches_of(graph, fused))));
  }

  [[nodiscard]] GraphLaunchCosts graph_costs(std::size_t index) const {
    GraphLaunchCosts costs;
    costs.latency = case_.graphs[index].typical.launch_latency;
    if (known_[index]) {
      costs.call = launch_costs_[index].graph_call;
      costs.node = launch_costs_[index].graph_node;
      costs.gap = launch_costs_[index].graph_gap;
    }
    return costs;
  }

  Result<void> note(const std::string& what, Result<Change> change) {
    if (!change) return in_context(what, change.error());
    if (changes_ != nullptr && change->any()) {
      change->moved.clear();
      changes_->emplace_back(what, std::move(*change));
    }
    return {};
  }

  void say_confidence(WhatIfPrediction& result) const {
    std::vector<std::string>& why = result.confidence;
    const auto say = [&](bool holds, std::string text) {
      if (holds) why.push_back(std::move(text));
    };
    const bool together = result.members > 1;
    say(together && on_host_, "tasks share cores; what they share of caches and memory is not known from a trace");
    say(together && !on_host_ && unknown_devices_.empty(),
        "what kernels use of pipes and memory is taken by their kind; a trace does not tell");
    say(together && !on_host_ && !unknown_devices_.empty(), "kernels share the device by the blocks they fill; memory is not known");
    say(together && what_if_.launch_threads > 1, "launches of several threads hold one lock for their whole length");
    say(what_if_.fuse != FuseChoice::kNone, "fused times are analytic, none was profiled");
    say(what_if_.graphs, "costs of graph launches are published figures, not this machine's");
    say(what_if_.mixed_precision, "mixed precision is taken to make matrix products 3 and all else 2 times faster");
    for (const std::string& device : unknown_devices_) {
      say(!on_host_ && (together || what_if_.graphs), fmt::format("no figures of device \"{}\"", device));
    }
    std::size_t left_out = 0;
    std::size_t unresolved = 0;
    for (const TraceGraph& graph : case_.graphs) {
      left_out += graph.counts.left_out;
      unresolved += graph.counts.unresolved_waits;
    }
    say(left_out > 0, fmt::format("{} ops in flight before the step are left out", left_out));
    say(unresolved > 0, fmt::format("{} waiting calls keep their recorded length", unresolved));
  }

  const WhatIfCase& case_;
  const WhatIf& what_if_;
  int steps_ = 1;
  std::vector<LaunchCosts> launch_costs_;  ///< by trace
  std::vector<bool> known_;                ///< by trace: its device has figures
  bool on_host_ = true;  ///< runs of a CPU: tasks share its cores
  int cores_ = 1;
  std::optional<GpuProfile> gpu_;          ///< of the first trace whose device has figures
  std::vector<std::string> unknown_devices_;
  std::vector<std::pair<std::string, Change>>* changes_ = nullptr;
};

Result<void> check(const WhatIfCase& what_if_case, const WhatIf& what_if) {
  if (what_if_case.graphs.empty()) return fail(ErrorCode::kUsage, "no trace");
  constexpr int kMost = 4096;
  for (const auto& [name, number] :
       {std::pair{"--models", what_if.models}, std::pair{"--streams", what_if.streams.value_or(1)},
        std::pair{"--launch-threads", what_if.launch_threads}, std::pair{"--buffers", what_if.buffers.value_or(1)}}) {
    if (number < 1 || number > kMost) return fail(ErrorCode::kUsage, "{} {}: 1 to {}", name, number, kMost);
  }
  if (!(what_if.copy_speed > 0)) return fail(ErrorCode::kUsage, "--copy-speed {}: positive", what_if.copy_speed);
  for (const auto& [pattern, times] : what_if.scale) {
    if (!(times > 0)) return fail(ErrorCode::kUsage, "--scale {}={}: positive", pattern, times);
  }
  return {};
}

}  // namespace

bool WhatIf::any() const {
  return models != 1 || streams || launch_threads != 1 || fuse != FuseChoice::kNone || graphs || shared_input ||
         buffers || !scale.empty() || mixed_precision || copy_speed != 1;
}

Result<WhatIfPrediction> predict_what_if(const WhatIfCase& what_if_case, const WhatIf& what_if) {
  COHORT_CHECK(check(what_if_case, what_if));
  return Predictor(what_if_case, what_if).run();
}

}  // namespace cohort
