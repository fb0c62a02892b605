#include "simulator/engine/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "simulator/engine/event_loop.hpp"
#include "simulator/engine/flat_run.hpp"

namespace cohort {
namespace {

constexpr double kUsedUp = 0.9;  // of the makespan: more, and a GPU's throughput is what binds
constexpr double kBusy = 0.5;    // of the makespan: less, and a resource is not what binds

/// For each task the one before it on its resource.
std::vector<std::optional<TaskId>> queue_predecessors(const TaskGraph& graph, const TaskOrder& order) {
  std::vector<std::optional<TaskId>> before(graph.tasks.size());
  for (const std::vector<TaskId>& queue : order.queues) {
    for (std::size_t i = 1; i < queue.size(); ++i) before[to_index(queue[i])] = queue[i - 1];
  }
  return before;
}

Nanoseconds longest_path(const TaskGraph& graph, const TaskOrder& order,
                         const std::vector<std::optional<TaskId>>& before) {
  std::vector<Nanoseconds> start(graph.tasks.size());
  Nanoseconds longest{};
  for (const TaskId id : order.topological) {
    const std::size_t index = to_index(id);
    if (before[index]) {
      const std::size_t previous = to_index(*before[index]);
      start[index] = std::max(start[index], start[previous] + graph.tasks[previous].duration);
    }
    const Nanoseconds end = start[index] + graph.tasks[index].duration;
    longest = std::max(longest, end);
    for (std::uint32_t i = order.first_edge[index]; i < order.first_edge[index + 1]; ++i) {
      const Edge& edge = graph.edges[order.edges[i]];
      Nanoseconds& to = start[to_index(edge.to)];
      to = std::max(to, (edge.anchor == Anchor::kEnd ? end : start[index]) + edge.delay);
    }
  }
  return longest;
}

/// One reverse sweep: the least of what each successor leaves. What does not lead to the goal may take the time that
/// there is.
void fill_slack(const TaskGraph& graph, const TaskOrder& order, const std::vector<std::optional<TaskId>>& before,
                std::optional<TaskId> goal, Schedule& schedule) {
  constexpr Nanoseconds kUnbound = Nanoseconds::max() / 4;
  for (TaskTimes& times : schedule.tasks) times.slack = goal ? kUnbound : schedule.makespan - times.end;
  if (goal) schedule.tasks[to_index(*goal)].slack = Nanoseconds(0);
  for (auto it = order.topological.rbegin(); it != order.topological.rend(); ++it) {
    const std::size_t index = to_index(*it);
    TaskTimes& times = schedule.tasks[index];
    for (std::uint32_t i = order.first_edge[index]; i < order.first_edge[index + 1]; ++i) {
      const Edge& edge = graph.edges[order.edges[i]];
      const TaskTimes& to = schedule.tasks[to_index(edge.to)];
      const Nanoseconds from = edge.anchor == Anchor::kEnd ? times.end : times.start;
      times.slack = std::min(times.slack, to.start - from - edge.delay + to.slack);
    }
    if (before[index]) {
      TaskTimes& previous = schedule.tasks[to_index(*before[index])];
      previous.slack = std::min(previous.slack, times.start - previous.end + times.slack);
    }
  }
  for (TaskTimes& times : schedule.tasks) times.slack = std::min(times.slack, schedule.makespan - times.end);
}

/// For each task the one whose end (or start) let it start: the latest, ties by the lowest id.
std::vector<std::optional<TaskId>> causes(const TaskGraph& graph, const std::vector<std::optional<TaskId>>& before,
                                          const std::vector<TaskTimes>& times) {
  std::vector<std::optional<TaskId>> cause(before);
  std::vector<Nanoseconds> latest(graph.tasks.size(), Nanoseconds(-1));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i]) latest[i] = times[to_index(*before[i])].end;
  }
  for (const Edge& edge : graph.edges) {
    const TaskTimes& from = times[to_index(edge.from)];
    const Nanoseconds allows = (edge.anchor == Anchor::kEnd ? from.end : from.start) + edge.delay;
    const std::size_t to = to_index(edge.to);
    if (allows > latest[to] || (allows == latest[to] && edge.from < cause[to])) {
      latest[to] = allows;
      cause[to] = edge.from;
    }
  }
  return cause;
}

std::vector<TaskId> critical_path(const std::vector<std::optional<TaskId>>& cause, const std::vector<TaskTimes>& times,
                                  std::optional<TaskId> goal) {
  std::vector<TaskId> path;
  if (times.empty()) return path;
  const auto last = std::max_element(times.begin(), times.end(),
                                     [](const TaskTimes& a, const TaskTimes& b) { return a.end < b.end; });
  for (std::optional<TaskId> task = goal.value_or(TaskId(last - times.begin())); task; task = cause[to_index(*task)]) {
    path.push_back(*task);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

Binding binding_of(const TaskGraph& graph, const Schedule& schedule) {
  if (schedule.makespan == Nanoseconds(0)) return {"dependencies", 0};
  const double makespan = static_cast<double>(schedule.makespan.count());
  Binding binding{"cores", static_cast<double>(schedule.core_time.count()) / makespan};
  const double device = std::min(1.0, static_cast<double>(schedule.device_time.count()) / makespan);
  if (device > binding.utilisation) binding = {"multiprocessors", device};
  for (std::size_t i = 0; i < schedule.busy.size(); ++i) {
    // Streams of a shared device are no resource of their own: what they wait for is the device.
    if (graph.resources[i].discipline == Discipline::kOverlapping && device > 0) continue;
    const double busy = static_cast<double>(schedule.busy[i].count()) / makespan;
    if (busy > binding.utilisation) binding = {graph.resources[i].name, busy};
  }
  if (binding.utilisation < kBusy) binding.resource = "dependencies";
  return binding;
}

/// A throughput of the GPU that is used up binds before any stream that waits for it.
void bind_to_throughput(const BusiestThroughput& busiest, Schedule& schedule) {
  if (schedule.makespan == Nanoseconds(0)) return;
  const double busy = static_cast<double>(busiest.time.count()) / static_cast<double>(schedule.makespan.count());
  if (busy < kUsedUp) return;
  schedule.binding = {fmt::format("GPU {}", to_string(busiest.throughput)), busy};
}

Result<void> check_cores(const TaskGraph& graph, const DeviceProfile& device) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].cores > device.cores) {
      return fail(ErrorCode::kInvalidInput, "task {} asks for {} cores of a device that has {}", graph.label(TaskId(i)),
                  graph.tasks[i].cores, device.cores);
    }
  }
  return {};
}

Nanoseconds device_time(const TaskGraph& graph) {
  std::map<std::int32_t, double> work;
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    work[graph.resources[to_index(task.resource)].device] +=
        static_cast<double>(task.duration.count()) * std::min(1.0, static_cast<double>(task.waves));
  }
  double most = 0;
  for (const auto& [device, time] : work) most = std::max(most, time);
  return Nanoseconds(static_cast<std::int64_t>(most));
}

Result<void> check_memory_use(const TaskGraph& graph, const std::vector<double>& memory_use) {
  if (!memory_use.empty() && memory_use.size() != graph.tasks.size()) {
    return fail(ErrorCode::kInvalidInput, "memory use is given for {} tasks of {}", memory_use.size(),
                graph.tasks.size());
  }
  for (std::size_t i = 0; i < memory_use.size(); ++i) {
    if (!(memory_use[i] >= 0 && memory_use[i] <= 1)) {
      return fail(ErrorCode::kInvalidInput, "task {}: memory use is {}; it must be from 0 to 1", graph.label(TaskId(i)),
                  memory_use[i]);
    }
  }
  return {};
}

/// Else each takes its duration.
bool shares_gpu(const SimulationOptions& options) { return options.gpu || options.share_multiprocessors; }

bool tasks_share(const TaskGraph& graph, const SimulationOptions& options) {
  return shares_gpu(options) ||
         std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) { return task.cores > 0; });
}

/// What can be wrong besides the graph itself, whose ranges were checked.
Result<void> check(const TaskGraph& graph, const SimulationOptions& options) {
  COHORT_CHECK(check_cores(graph, options.device));
  if (options.goal && to_index(*options.goal) >= graph.tasks.size()) {
    return fail(ErrorCode::kInvalidInput, "the goal is task {} of {}", to_index(*options.goal), graph.tasks.size());
  }
  if (options.gpu) COHORT_CHECK(check_gpu_work(*options.gpu, graph));
  return check_memory_use(graph, options.memory_use);
}

}  // namespace

Nanoseconds makespan_of(const std::vector<TaskTimes>& times) {
  Nanoseconds last{};
  for (const TaskTimes& each : times) last = std::max(last, each.end);
  return last;
}

Result<std::vector<TaskTimes>> simulate_times(const TaskGraph& graph, const SimulationOptions& options) {
  COHORT_CHECK(validate(options.device));
  if (!tasks_share(graph, options)) {
    COHORT_TRY(std::vector<TaskTimes> times, run_flat(graph));
    COHORT_CHECK(check(graph, options));
    return times;
  }
  COHORT_TRY(const TaskOrder order, order_tasks(graph));
  COHORT_CHECK(check(graph, options));
  return run_events(graph, order, options);
}

Result<Schedule> simulate(const TaskGraph& graph, const SimulationOptions& options) {
  COHORT_CHECK(validate(options.device));
  COHORT_TRY(const TaskOrder order, order_tasks(graph));
  COHORT_CHECK(check(graph, options));
  const std::vector<std::optional<TaskId>> before = queue_predecessors(graph, order);

  Schedule schedule;
  if (tasks_share(graph, options)) {
    schedule.tasks = run_events(graph, order, options);
  } else {
    COHORT_TRY(schedule.tasks, run_flat(graph));
  }
  schedule.makespan = makespan_of(schedule.tasks);
  schedule.busy.resize(graph.resources.size());
  double work = 0;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    schedule.busy[to_index(task.resource)] += schedule.tasks[i].end - schedule.tasks[i].start;
    schedule.serial_sum += task.duration;
    const bool on_gpu = options.gpu && options.gpu->tasks[i];
    if (!on_gpu) work += static_cast<double>(task.duration.count()) * task.cores;
  }
  schedule.core_time = Nanoseconds(static_cast<std::int64_t>(work / options.device.cores));
  schedule.longest_path = longest_path(graph, order, before);
  const BusiestThroughput throughput = options.gpu ? busiest_throughput(*options.gpu, graph) : BusiestThroughput{};
  schedule.device_time = options.gpu ? throughput.time : device_time(graph);
  schedule.lower_bound = std::max(schedule.longest_path, schedule.core_time);
  // Where kernels take what was recorded, those recorded side by side have the waiting for each other in their times.
  if (shares_gpu(options)) schedule.lower_bound = std::max(schedule.lower_bound, schedule.device_time);
  fill_slack(graph, order, before, options.goal, schedule);
  schedule.critical_path = critical_path(causes(graph, before, schedule.tasks), schedule.tasks, options.goal);
  schedule.binding = binding_of(graph, schedule);
  bind_to_throughput(throughput, schedule);
  return schedule;
}

}  // namespace cohort
