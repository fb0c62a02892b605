#include "simulator/what_if/what_if_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "simulator/colocation/colocate.hpp"
#include "simulator/transform/buffers.hpp"
#include "simulator/transform/edit.hpp"
#include "simulator/transform/launch_lock.hpp"
#include "simulator/transform/select.hpp"
#include "simulator/what_if/minibatch.hpp"
#include "tracer/kernel_name.hpp"

namespace cohort {
namespace {

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
  const auto direction = recorded_copy_direction(graph.labels[to_index(task.label)]);
  return direction == CopyDirection::kHostToDevice || (!to_device_only && direction == CopyDirection::kDeviceToHost);
}

bool is_between_gpus(const TaskGraph& graph, const Task& task) {
  const std::string& name = graph.labels[to_index(task.label)];
  return (task.kind == TaskKind::kCopy && is_peer_copy(name)) ||
         (task.kind == TaskKind::kKernel && is_collective(name));
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

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Drivers before 460 leave out who made a device: "A100-SXM4-40GB". A name that one side lacks contradicts nothing.
bool same_gpu(std::string_view recorded, std::string_view figures) {
  constexpr std::string_view kMaker = "NVIDIA ";
  for (std::string_view* name : {&recorded, &figures}) {
    if (name->starts_with(kMaker)) name->remove_prefix(kMaker.size());
  }
  return recorded.empty() || figures.empty() || recorded == figures;
}

}  // namespace

WhatIfGraphs::WhatIfGraphs(const WhatIfCase& what_if_case, const WhatIf& what_if)
    : case_(what_if_case), what_if_(what_if), host_times_(what_if_case.graphs.size()) {
  for (const TraceGraph& graph : case_.graphs) {
    steps_.push_back(graph.graph);
    on_host_ = on_host_ && graph.counts.calls == 0 &&
               std::none_of(graph.graph.tasks.begin(), graph.graph.tasks.end(),
                            [](const Task& task) { return is_device_work(task.kind); });
  }
  for (const Trace* trace : case_.traces) {
    const std::string& device = trace->info.device.name;
    const auto profile = what_if.gpu ? what_if.gpu : published_gpu_profile(device);
    if (!profile) add_once(unknown_devices_, device);
    if (what_if.gpu && !same_gpu(device, what_if.gpu->device)) add_once(foreign_devices_, device);
    launch_costs_.push_back(profile ? profile->launch : LaunchCosts{});
    known_.push_back(profile.has_value());
    if (profile && !gpu_) gpu_ = profile;
    cores_ = std::max(cores_, trace->info.device.cores);
  }
}

Result<void> WhatIfGraphs::find_times_alone() {
  if (on_host_) return {};
  const GpuProfile* const gpu = gpu_ && unknown_devices_.empty() ? &*gpu_ : nullptr;
  for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
    COHORT_TRY(TimesAlone times, times_alone(case_.graphs[i], *case_.traces[i], gpu));
    times_alone_.push_back(std::move(times));
  }
  return {};
}

Result<void> WhatIfGraphs::change_minibatch() {
  if (!what_if_.minibatch) return {};
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const RecordedStep recorded{case_.traces[i], &case_.graphs[i], *what_if_.recorded_minibatch};
    Result<MinibatchChange> changed = [&]() -> Result<MinibatchChange> {
      if (!case_.second)
        return scale_minibatch(steps_[i], recorded, *what_if_.minibatch, launch_costs_[i].kernel_fixed);
      const RecordedStep second{case_.second->trace, &case_.second->graph, case_.second->minibatch};
      return interpolate_minibatch(steps_[i], recorded, second, *what_if_.minibatch);
    }();
    if (!changed) return tl::unexpected<Error>(changed.error());
    minibatch_doubts_.insert(minibatch_doubts_.end(), changed->doubts.begin(), changed->doubts.end());
    COHORT_CHECK(note("minibatch", std::move(changed->change)));
  }
  return {};
}

Result<TaskGraph> WhatIfGraphs::one(std::size_t index, const WhatIfStage& stage, int steps) {
  TaskGraph graph = steps_[index];
  COHORT_CHECK(change_one(index, stage, steps, graph));
  COHORT_CHECK(check_total_time(graph, static_cast<double>(what_if_.members(steps_.size()))));
  return graph;
}

Result<SimulationOptions> WhatIfGraphs::options(const TaskGraph& graph, const WhatIfStage& stage,
                                                std::span<const RecordedTasks> parts) const {
  SimulationOptions options;
  if (on_host_) {
    options.device.cores = cores_;
    return options;
  }
  // Without MPS no two processes' kernels meet.
  options.share_multiprocessors = stage.together && what_if_.processes != Processes::kTimeSlicing;
  if (options.share_multiprocessors && gpu_ && unknown_devices_.empty()) {
    COHORT_TRY(options.gpu, recorded_gpu_work(graph, parts, *gpu_));
  }
  return options;
}

Result<TaskGraph> WhatIfGraphs::whole(const WhatIfStage& stage, int steps, std::vector<RecordedTasks>& parts) {
  TaskGraph graph;
  std::vector<MemberTasks> members;
  for (std::size_t i = 0; i < case_.graphs.size(); ++i) {
    const int count = what_if_.models_of(i);
    COHORT_TRY(TaskGraph of_trace, members_of(i, stage, steps, count));
    const std::size_t first = graph.tasks.size();
    if (i == 0) {
      graph = std::move(of_trace);
    } else {
      append(graph, of_trace, fmt::format("trace {}", i + 1));
    }
    parts.push_back({case_.traces[i], first, graph.tasks.size()});
    members.push_back({first, graph.tasks.size(), count, std::min(count, what_if_.launch_threads)});
  }
  if (stage.together) COHORT_CHECK(put_together(graph, members));
  return graph;
}

/// What all members have in common: the device's copy engines and, in one process, threads and the driver's lock.
Result<void> WhatIfGraphs::put_together(TaskGraph& graph, const std::vector<MemberTasks>& members) {
  const bool one_process = what_if_.processes == Processes::kOne;
  if (members.size() > 1) {
    const auto all = static_cast<int>(what_if_.members(members.size()));
    const int sets = std::min(all, what_if_.launch_threads);
    if (one_process) COHORT_CHECK(note("share threads", share_threads(graph, members, sets)));
    for (Task& task : graph.tasks) task.holds.reset();
    hold_shared_engines(graph, one_process && sets > 1);
  }
  if (what_if_.processes == Processes::kTimeSlicing) hold_turns(graph);
  if (!one_process) return slow_hosts(graph);
  if (const auto part = lock_part()) COHORT_CHECK(note("driver lock", shorten_locks(graph, *part)));
  return {};
}

/// Processes slow each other's hosts.
Result<void> WhatIfGraphs::slow_hosts(TaskGraph& graph) {
  const Selection work = select(graph, [&](const Task& task) {
    return graph.resources[to_index(task.resource)].kind == ResourceKind::kHostThread &&
           (task.kind == TaskKind::kLaunch || task.kind == TaskKind::kCall || task.kind == TaskKind::kHostWork);
  });
  return note("processes", scale(graph, work, 1 / host_slowdown(what_if_.members(steps_.size()))));
}

Result<TaskGraph> WhatIfGraphs::members_of(std::size_t index, const WhatIfStage& stage, int steps, int members) {
  COHORT_TRY(TaskGraph graph, one(index, stage, steps));
  if (on_host_) take_cores(*case_.traces[index], graph);
  if (stage.together && !times_alone_.empty()) COHORT_CHECK(take_times_alone(index, graph));
  ReplicateOptions options;
  options.members = members;
  options.stream_gap = case_.graphs[index].typical.stream_gap;
  options.turns = stage.together ? Turns::kInterleaved : Turns::kWhole;
  options.within_launches = stage.fused;  // else one member's part of a graph would wait for another's whole
  if (stage.together) {
    options.one_process = what_if_.processes == Processes::kOne;
    options.stream_sets = std::min(members, what_if_.streams.value_or(members));
    options.thread_sets = options.one_process ? std::min(members, what_if_.launch_threads) : members;
  }
  COHORT_CHECK(note("replicate", replicate(graph, options)));
  if (members == 1) return graph;
  if (stage.shared) COHORT_CHECK(share_input(graph));
  if (stage.fused) COHORT_CHECK(fuse(index, graph));
  return graph;
}

std::optional<double> WhatIfGraphs::lock_part() const {
  if (!gpu_ || !unknown_devices_.empty() || gpu_->launch.lock >= gpu_->launch.call) return std::nullopt;
  return seconds(gpu_->launch.lock) / seconds(gpu_->launch.call);
}

/// A CPU's tasks ask for the threads that they were recorded with.
void WhatIfGraphs::take_cores(const Trace& trace, TaskGraph& graph) const {
  for (Task& task : graph.tasks) {
    if (task.kind != TaskKind::kStep || !task.step) continue;
    const std::int64_t threads = trace.integer_arg(trace.slices[*task.step], "threads").value_or(1);
    task.cores = static_cast<int>(std::clamp(threads, std::int64_t{1}, std::int64_t{cores_}));
  }
}

Result<void> WhatIfGraphs::take_times_alone(std::size_t index, TaskGraph& graph) {
  const std::vector<double>& part = times_alone_[index].part;
  if (part.empty()) return {};
  Change change;
  for (Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel || !task.step || part[*task.step] == 1) continue;
    const double alone = static_cast<double>(task.duration.count()) * part[*task.step];
    task.duration = std::max(Nanoseconds(1), Nanoseconds(std::llround(alone)));
    ++change.tasks_changed;
  }
  return note("times alone", change);
}

Result<void> WhatIfGraphs::change_one(std::size_t index, const WhatIfStage& stage, int steps, TaskGraph& graph) {
  if (stage.retimed) COHORT_CHECK(retime_tasks(graph));
  if (stage.graphs) COHORT_CHECK(launch_as_graphs(index, graph));
  if (steps > 1) COHORT_CHECK(note("repeat", repeat(graph, steps, case_.graphs[index].typical.stream_gap)));
  if (what_if_.buffers && stage.together) {
    const Selection copies = select(graph, [&](const Task& task) { return is_host_copy(graph, task, true); });
    if (copies.empty()) return fail(ErrorCode::kNegativeAnswer, "--buffers: the step copies nothing to the device");
    COHORT_CHECK(buffer_input(graph, copies));
  }
  return {};
}

Result<void> WhatIfGraphs::launch_as_graphs(std::size_t index, TaskGraph& graph) {
  COHORT_TRY(GraphCollapse collapse, collapse_to_graphs(graph, graph_costs(index)));
  host_times_[index] = {collapse.removed, collapse.kept};
  return note("graphs", std::move(collapse.change));
}

/// Copies go to a thread of their own and, for each GPU, a stream of its own, as far ahead as there are buffers.
Result<void> WhatIfGraphs::buffer_input(TaskGraph& graph, const Selection& copies) {
  COHORT_TRY(std::vector<bool> mask, mask_of(graph, copies));
  const ResourceId thread = graph.add_resource("input thread", ResourceKind::kHostThread);
  std::map<std::int32_t, Selection> by_device;
  for (const TaskId id : copies) by_device[graph.resources[to_index(graph.task(id).resource)].device].push_back(id);
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
  for (const auto& [device, of_device] : by_device) {
    const std::string name = by_device.size() == 1 ? "input stream" : fmt::format("input stream of GPU {}", device);
    const ResourceId stream = graph.add_resource(name, ResourceKind::kStream, Discipline::kOverlapping);
    graph.resources.back().device = device;
    COHORT_CHECK(note("reschedule input", reschedule(graph, of_device, stream, Nanoseconds(0))));
  }
  for (const TaskId id : launches) graph.tasks[to_index(id)].resource = thread;
  Selection producers = copies;
  producers.insert(producers.end(), launches.begin(), launches.end());
  std::sort(producers.begin(), producers.end());
  return note("double buffer", double_buffer(graph, producers, consumers, *what_if_.buffers));
}

Result<void> WhatIfGraphs::retime_tasks(TaskGraph& graph) {
  for (const auto& [pattern, times] : what_if_.scale) {
    const Selection named = device_work(graph, select_named(graph, pattern));
    if (named.empty()) {
      return fail(ErrorCode::kNegativeAnswer, "--scale {}: no kernel, op or layer of the step has such a name",
                  pattern);
    }
    COHORT_CHECK(note("scale " + pattern, scale(graph, named, times)));
  }
  if (what_if_.mixed_precision) COHORT_CHECK(halve_precision(graph));
  if (what_if_.copy_speed != 1) {
    const Selection copies = select(graph, [&](const Task& task) { return is_host_copy(graph, task, false); });
    if (copies.empty()) {
      return fail(ErrorCode::kNegativeAnswer, "--copy-speed: the step copies nothing from or to the host");
    }
    COHORT_CHECK(note("copy speed", scale(graph, copies, what_if_.copy_speed)));
  }
  if (what_if_.interconnect_speed != 1) {
    if (!any_step_has(is_between_gpus)) {
      return fail(
          ErrorCode::kNegativeAnswer,
          "--interconnect-speed: the step copies nothing between GPUs and has no kernels of NCCL, RCCL or MSCCL");
    }
    const Selection between = select(graph, [&](const Task& task) { return is_between_gpus(graph, task); });
    COHORT_CHECK(note("interconnect speed", scale(graph, between, what_if_.interconnect_speed)));
  }
  return {};
}

/// Kernels whose names tell operands of 16 bits already keep their times.
Result<void> WhatIfGraphs::halve_precision(TaskGraph& graph) {
  const auto gains = [](const TaskGraph& of, const Task& task) {
    return task.kind == TaskKind::kKernel && !computes_in_16_bits(of.labels[to_index(task.label)]);
  };
  if (!any_step_has(gains)) {
    return fail(ErrorCode::kNegativeAnswer,
                "--mixed-precision: the step has no kernels but those that compute in 16 bits already, by their names");
  }
  for (const bool products : {true, false}) {
    const Selection kernels = select(graph, [&](const Task& task) {
      return gains(graph, task) && is_matrix_product(graph.labels[to_index(task.label)]) == products;
    });
    COHORT_CHECK(note("mixed precision", scale(graph, kernels, products ? kTensorCores : kHalvedTraffic)));
  }
  return {};
}

bool WhatIfGraphs::any_step_has(const std::function<bool(const TaskGraph&, const Task&)>& holds) const {
  return std::any_of(steps_.begin(), steps_.end(), [&](const TaskGraph& graph) {
    return std::any_of(graph.tasks.begin(), graph.tasks.end(), [&](const Task& task) { return holds(graph, task); });
  });
}

Result<void> WhatIfGraphs::share_input(TaskGraph& graph) {
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
Fusion WhatIfGraphs::fusion_of(std::size_t index, const TaskGraph& graph, const Selection& group) const {
  const Task& task = graph.task(group.front());
  const Nanoseconds fixed = std::min(task.duration, launch_costs_[index].kernel_fixed);
  const double waves = task.waves > 0 ? static_cast<double>(task.waves) : 1;
  const double times = std::ceil(waves * static_cast<double>(group.size())) / std::ceil(waves);
  const auto work = static_cast<double>((task.duration - fixed).count());
  return {group, fixed + Nanoseconds(std::llround(work * times)),
          static_cast<float>(waves) * static_cast<float>(group.size())};
}

Result<Selection> WhatIfGraphs::chosen_to_fuse(const TaskGraph& graph) const {
  if (what_if_.fuse == FuseChoice::kAuto) {
    constexpr float kLeavesRoom = 0.5F;
    return select(graph, [&](const Task& task) {
      return task.kind == TaskKind::kKernel && task.waves > 0 && task.waves <= kLeavesRoom;
    });
  }
  Selection chosen;
  for (const std::string& pattern : what_if_.fused) {
    const Selection named = device_work(graph, select_named(graph, pattern));
    if (named.empty()) {
      return fail(ErrorCode::kNegativeAnswer, "--fuse {}: no kernel, op or layer of the step has such a name", pattern);
    }
    chosen.insert(chosen.end(), named.begin(), named.end());
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

Result<void> WhatIfGraphs::fuse(std::size_t index, TaskGraph& graph) {
  COHORT_TRY(const Selection chosen, chosen_to_fuse(graph));
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

GraphLaunchCosts WhatIfGraphs::graph_costs(std::size_t index) const {
  GraphLaunchCosts costs;
  costs.latency = case_.graphs[index].typical.launch_latency;
  if (known_[index]) {
    costs.call = launch_costs_[index].graph_call;
    costs.node = launch_costs_[index].graph_node;
    costs.chain_node = launch_costs_[index].graph_chain_node;
    costs.stream = launch_costs_[index].graph_stream;
    costs.gap = launch_costs_[index].graph_gap;
  }
  return costs;
}

Result<void> WhatIfGraphs::note(const std::string& what, Result<Change> change) {
  if (!change) return in_context(what, change.error());
  if (changes_ != nullptr && change->any()) {
    change->moved.clear();
    changes_->emplace_back(what, std::move(*change));
  }
  return {};
}

}  // namespace cohort
