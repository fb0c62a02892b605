#include "simulator/report/run_facts.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

namespace cohort {
namespace {

bool is_work_of_device(TaskKind kind) { return is_device_work(kind) || kind == TaskKind::kStep; }

/// The part of a task's run that is in the window.
Nanoseconds within(const TaskTimes& times, const TimeWindow& window) {
  return std::max(Nanoseconds(0), std::min(times.end, window.end) - std::max(times.start, window.start));
}

double device_busy(const TaskGraph& graph, const Schedule& schedule, const TimeWindow& window) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> runs;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const TaskTimes& times = schedule.tasks[i];
    if (!is_work_of_device(graph.tasks[i].kind) || within(times, window) == Nanoseconds(0)) continue;
    runs.emplace_back(std::max(times.start, window.start), std::min(times.end, window.end));
  }
  std::sort(runs.begin(), runs.end());
  Nanoseconds busy{};
  Nanoseconds until = Nanoseconds::min();
  for (const auto& [start, end] : runs) {
    if (end <= until) continue;
    busy += end - std::max(start, until);
    until = end;
  }
  return window.length() > Nanoseconds(0) ? seconds(busy) / seconds(window.length()) : 0;
}

/// Part of the SMs that a task's blocks would fill alone; absent for what is no kernel.
std::optional<double> filled_part(const TaskGraph& graph, std::size_t index, const GpuWork* gpu) {
  const Task& task = graph.tasks[index];
  if (task.kind == TaskKind::kKernel) return std::min(1.0, static_cast<double>(task.waves));
  if (gpu == nullptr || !gpu->tasks[index]) return std::nullopt;
  const auto* kernel = std::get_if<KernelTask>(&*gpu->tasks[index]);
  if (kernel == nullptr) return std::nullopt;
  const KernelDemand& demand = gpu->kernels[kernel->kernel];
  const double room = static_cast<double>(gpu->profile.sms) * std::max(1, demand.blocks_per_sm);
  return std::min(1.0, static_cast<double>(demand.blocks) / room);
}

/// Stretched by sharing or not, a task's work is what it is: the part of it that is done in the window.
double work_within(const Task& task, const TaskTimes& times, const TimeWindow& window) {
  const Nanoseconds inside = within(times, window);
  return inside > Nanoseconds(0) ? seconds(task.duration) * seconds(inside) / seconds(times.end - times.start) : 0;
}

/// Of the busiest GPU: blocks that kernels would fill alone, for as long as they would take alone.
std::optional<double> sm_busy(const TaskGraph& graph, const Schedule& schedule, const FactsScope& scope,
                              const TimeWindow& window) {
  std::map<std::int32_t, double> filled;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const auto part = filled_part(graph, i, scope.gpu);
    if (!part) continue;
    filled[graph.resources[to_index(graph.tasks[i].resource)].device] +=
        *part * work_within(graph.tasks[i], schedule.tasks[i], window);
  }
  if (filled.empty() || window.length() <= Nanoseconds(0)) return std::nullopt;
  double most = 0;
  for (const auto& [device, time] : filled) most = std::max(most, time);
  return most / seconds(window.length());
}

std::optional<double> cores_busy(const TaskGraph& graph, const Schedule& schedule, const FactsScope& scope,
                                 const TimeWindow& window) {
  if (scope.cores == 0 || window.length() <= Nanoseconds(0)) return std::nullopt;
  double busy = 0;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const TaskTimes& times = schedule.tasks[i];
    const bool uses_memory = !scope.memory_use.empty() && scope.memory_use[i] > 0;
    busy += task.cores * (uses_memory ? seconds(within(times, window)) : work_within(task, times, window));
  }
  return std::min(1.0, busy / (scope.cores * seconds(window.length())));
}

std::string_view part_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return "kernels";
    case TaskKind::kCopy:
    case TaskKind::kMemset:
      return "copies and memsets";
    case TaskKind::kLaunch:
      return "launches";
    case TaskKind::kCall:
    case TaskKind::kWait:
      return "other calls";
    case TaskKind::kHostWork:
      return "host work between calls";
    case TaskKind::kInput:
      return "input";
    case TaskKind::kStep:
      return "steps";
    case TaskKind::kMark:
      break;
  }
  return kLatenciesAndGaps;
}

/// By task: the moment at which edges and the order of its resource let it start.
std::vector<Nanoseconds> allowed_starts(const TaskGraph& graph, const Schedule& schedule) {
  std::vector<Nanoseconds> allowed(graph.tasks.size());
  const auto after = [&](TaskId to, Nanoseconds time) {
    allowed[to_index(to)] = std::max(allowed[to_index(to)], time);
  };
  for (const Edge& edge : graph.edges) {
    const TaskTimes& from = schedule.tasks[to_index(edge.from)];
    after(edge.to, (edge.anchor == Anchor::kEnd ? from.end : from.start) + edge.delay);
  }
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) after(queue[i], schedule.tasks[to_index(queue[i - 1])].end);
  }
  return allowed;
}

/// One task of the path, and what stands between it and the next one.
PathStep path_step(const TaskGraph& graph, const Schedule& schedule, TaskId id, const TimeWindow& window) {
  const Task& task = graph.task(id);
  PathStep step;
  step.name = graph.label(id);
  step.resource = graph.resources[to_index(task.resource)].name;
  step.kind = task.kind;
  step.member = task.member;
  step.start = std::max(schedule.tasks[to_index(id)].start, window.start);
  return step;
}

void add_path(const TaskGraph& graph, const Schedule& schedule, const TimeWindow& window, RunFacts& facts) {
  std::map<std::string_view, Nanoseconds> parts;
  const std::vector<TaskId>& path = schedule.critical_path;
  const std::vector<Nanoseconds> allowed = allowed_starts(graph, schedule);
  Nanoseconds from = window.start;  // what is told so far ends here
  for (std::size_t i = 0; i < path.size(); ++i) {
    const TaskTimes& times = schedule.tasks[to_index(path[i])];
    const bool last = i + 1 == path.size();
    // The next one may begin before this one ends, as a kernel after its launch has begun.
    const Nanoseconds next = last ? window.end : schedule.tasks[to_index(path[i + 1])].start;
    if (!last && next <= window.start && times.start < window.start) continue;
    PathStep step = path_step(graph, schedule, path[i], window);
    parts[kLatenciesAndGaps] += std::max(Nanoseconds(0), step.start - from);
    const Nanoseconds end = std::max(times.end, window.start);
    step.own = std::min(end, next) - step.start;
    const Nanoseconds free = last ? next : std::clamp(allowed[to_index(path[i + 1])], window.start, next);
    step.wait = std::max(Nanoseconds(0), free - end);
    step.held = std::max(Nanoseconds(0), next - end) - step.wait;
    parts[part_of(step.kind)] += step.own;
    parts[kLatenciesAndGaps] += step.wait;
    const bool for_device = !last && is_work_of_device(graph.task(path[i + 1]).kind);
    parts[for_device ? "waiting for the device" : "waiting for a lock"] += step.held;
    facts.path.push_back(std::move(step));
    from = next;
  }
  for (const auto& [what, time] : parts) {
    if (time != Nanoseconds(0)) facts.parts.push_back({std::string(what), time});
  }
  std::stable_sort(facts.parts.begin(), facts.parts.end(),
                   [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
}

void add_tasks(const TaskGraph& graph, const Schedule& schedule, const FactsScope& scope, const TimeWindow& window,
               RunFacts& facts) {
  std::map<std::pair<std::string_view, TaskKind>, NamedTasks> named;
  const auto entry = [&](std::string_view name, TaskKind kind) -> NamedTasks& {
    NamedTasks& tasks = named[{name, kind}];
    if (tasks.count == 0) tasks.slack = schedule.makespan;
    return tasks;
  };
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const TaskTimes& times = schedule.tasks[i];
    const bool moment = times.start == times.end;
    const bool inside = moment ? !scope.window || window.contains(times.start) : within(times, window) > Nanoseconds(0);
    if (task.kind == TaskKind::kMark || !inside) continue;
    NamedTasks& tasks = entry(graph.label(TaskId(i)), task.kind);
    ++tasks.count;
    tasks.time += within(times, window);
    tasks.slack = std::min(tasks.slack, std::max(Nanoseconds(0), times.slack));
  }
  for (const PathStep& step : facts.path) {
    if (step.kind != TaskKind::kMark) entry(step.name, step.kind).on_path += step.own;
  }
  for (auto& [key, tasks] : named) {
    tasks.name = key.first;
    tasks.kind = key.second;
    facts.tasks.push_back(std::move(tasks));
  }
  std::stable_sort(facts.tasks.begin(), facts.tasks.end(), [](const NamedTasks& a, const NamedTasks& b) {
    return std::tie(a.on_path, a.time) > std::tie(b.on_path, b.time);
  });
}

}  // namespace

RunFacts facts_of(const TaskGraph& graph, const Schedule& schedule, const FactsScope& scope) {
  const TimeWindow window = scope.window.value_or(TimeWindow{Nanoseconds(0), schedule.makespan});
  RunFacts facts;
  facts.steps = scope.steps;
  facts.device_busy = device_busy(graph, schedule, window);
  facts.sm_busy = sm_busy(graph, schedule, scope, window);
  if (facts.sm_busy) facts.sm_busy = std::min(*facts.sm_busy, facts.device_busy);
  facts.cores_busy = cores_busy(graph, schedule, scope, window);
  add_path(graph, schedule, window, facts);
  add_tasks(graph, schedule, scope, window, facts);
  return facts;
}

}  // namespace cohort
