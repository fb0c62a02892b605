#include "simulator/run_facts.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cohort {
namespace {

bool is_work_of_device(TaskKind kind) { return is_device_work(kind) || kind == TaskKind::kStep; }

double device_busy(const TaskGraph& graph, const Schedule& schedule) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> runs;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (is_work_of_device(graph.tasks[i].kind)) runs.emplace_back(schedule.tasks[i].start, schedule.tasks[i].end);
  }
  std::sort(runs.begin(), runs.end());
  Nanoseconds busy{};
  Nanoseconds until = Nanoseconds::min();
  for (const auto& [start, end] : runs) {
    if (end <= until) continue;
    busy += end - std::max(start, until);
    until = end;
  }
  return schedule.makespan > Nanoseconds(0) ? seconds(busy) / seconds(schedule.makespan) : 0;
}

/// Of the busiest GPU: blocks that kernels would fill alone, for as long as they would take alone.
std::optional<double> sm_busy(const TaskGraph& graph, const Schedule& schedule) {
  std::map<std::int32_t, double> filled;
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::kKernel) continue;
    filled[graph.resources[to_index(task.resource)].device] +=
        seconds(task.duration) * std::min(1.0, static_cast<double>(task.waves));
  }
  if (filled.empty() || schedule.makespan <= Nanoseconds(0)) return std::nullopt;
  double most = 0;
  for (const auto& [device, time] : filled) most = std::max(most, time);
  return most / seconds(schedule.makespan);
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
  return "latencies and gaps";
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

void add_path(const TaskGraph& graph, const Schedule& schedule, RunFacts& facts) {
  std::map<std::string_view, Nanoseconds> parts;
  const std::vector<TaskId>& path = schedule.critical_path;
  const std::vector<Nanoseconds> allowed = allowed_starts(graph, schedule);
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Task& task = graph.task(path[i]);
    const TaskTimes& times = schedule.tasks[to_index(path[i])];
    PathStep step;
    step.name = graph.label(path[i]);
    step.resource = graph.resources[to_index(task.resource)].name;
    step.kind = task.kind;
    step.member = task.member;
    step.start = times.start;
    // The next one may begin before this one ends, as a kernel after its launch has begun.
    const Nanoseconds next = i + 1 < path.size() ? schedule.tasks[to_index(path[i + 1])].start : schedule.makespan;
    step.own = std::min(times.end, next) - times.start;
    const Nanoseconds free = i + 1 < path.size() ? std::min(next, allowed[to_index(path[i + 1])]) : next;
    step.wait = std::max(Nanoseconds(0), free - times.end);
    step.held = std::max(Nanoseconds(0), next - times.end) - step.wait;
    parts[part_of(task.kind)] += step.own;
    parts["latencies and gaps"] += step.wait + (i == 0 ? times.start : Nanoseconds(0));
    const bool for_device = i + 1 < path.size() && is_work_of_device(graph.task(path[i + 1]).kind);
    parts[for_device ? "waiting for the device" : "waiting for a lock"] += step.held;
    facts.path.push_back(std::move(step));
  }
  for (const auto& [what, time] : parts) {
    if (time != Nanoseconds(0)) facts.parts.push_back({std::string(what), time});
  }
  std::stable_sort(facts.parts.begin(), facts.parts.end(),
                   [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
}

void add_tasks(const TaskGraph& graph, const Schedule& schedule, RunFacts& facts) {
  std::map<std::pair<std::string_view, TaskKind>, NamedTasks> named;
  const auto entry = [&](std::string_view name, TaskKind kind) -> NamedTasks& {
    NamedTasks& tasks = named[{name, kind}];
    if (tasks.count == 0) tasks.slack = schedule.makespan;
    return tasks;
  };
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.kind == TaskKind::kMark) continue;
    NamedTasks& tasks = entry(graph.label(TaskId(i)), task.kind);
    const TaskTimes& times = schedule.tasks[i];
    ++tasks.count;
    tasks.time += times.end - times.start;
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

RunFacts facts_of(const TaskGraph& graph, const Schedule& schedule) {
  RunFacts facts;
  facts.device_busy = device_busy(graph, schedule);
  facts.sm_busy = sm_busy(graph, schedule);
  if (facts.sm_busy) facts.sm_busy = std::min(*facts.sm_busy, facts.device_busy);
  add_path(graph, schedule, facts);
  add_tasks(graph, schedule, facts);
  return facts;
}

}  // namespace cohort
