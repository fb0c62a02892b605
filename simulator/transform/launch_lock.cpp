#include "simulator/transform/launch_lock.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

/// A launch that is two tasks now.
struct Parts {
  TaskId locked{};
  Nanoseconds own{};
};

/// What waits for a launch waits for its locked part.
void move_edges(TaskGraph& graph, const std::vector<std::optional<Parts>>& parts) {
  for (Edge& edge : graph.edges) {
    const std::optional<Parts>& launch = parts[to_index(edge.from)];
    if (!launch || (edge.anchor == Anchor::kStart && edge.kind != EdgeKind::kLaunch)) continue;
    edge.from = launch->locked;
    if (edge.anchor == Anchor::kStart) edge.delay = std::max(Nanoseconds(0), edge.delay - launch->own);
  }
}

}  // namespace

Result<Change> shorten_locks(TaskGraph& graph, double lock_part) {
  if (!(lock_part >= 0 && lock_part <= 1)) {
    return fail(ErrorCode::kInvalidInput, "a lock held for {} of a launch; it must be from 0 to 1", lock_part);
  }
  Change change;
  const std::size_t tasks = graph.tasks.size();
  const std::size_t edges = graph.edges.size();
  std::vector<std::optional<Parts>> parts(tasks);
  for (Task& task : graph.tasks) task.position *= 2;
  for (std::size_t i = 0; i < tasks; ++i) {
    const Task& launch = graph.tasks[i];
    const bool locks = launch.kind == TaskKind::kLaunch && launch.holds &&
                       graph.resources[to_index(*launch.holds)].kind == ResourceKind::kDriverLock;
    const Nanoseconds held(std::llround(static_cast<double>(launch.duration.count()) * lock_part));
    if (!locks || held == launch.duration) continue;
    Task locked = launch;
    locked.duration = held;
    ++locked.position;
    graph.tasks[i].duration -= held;
    graph.tasks[i].holds.reset();
    parts[i] = Parts{graph.add_task(locked), graph.tasks[i].duration};
    ++change.tasks_changed;
  }
  parts.resize(graph.tasks.size());
  move_edges(graph, parts);
  for (std::size_t i = 0; i < tasks; ++i) {
    if (parts[i]) graph.add_edge(TaskId(i), parts[i]->locked, EdgeKind::kProgramOrder);
  }
  change.tasks_added = graph.tasks.size() - tasks;
  change.edges_added = graph.edges.size() - edges;
  return change;
}

}  // namespace cohort
