#include "simulator/transform/launch_lock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cohort {
namespace {

/// What a host task launches.
struct Launched {
  std::size_t kernels = 0;
  std::size_t others = 0;
  Nanoseconds soonest = Nanoseconds::max();  ///< from the launch's start to the kernel's
};

std::vector<Launched> launched_by(const TaskGraph& graph) {
  std::vector<Launched> launched(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    if (edge.kind != EdgeKind::kLaunch) continue;
    Launched& by = launched[to_index(edge.from)];
    ++(graph.task(edge.to).kind == TaskKind::kKernel ? by.kernels : by.others);
    if (edge.anchor == Anchor::kStart) by.soonest = std::min(by.soonest, edge.delay);
  }
  return launched;
}

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
    if (edge.anchor == Anchor::kStart) edge.delay -= launch->own;
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
  const std::vector<Launched> launched = launched_by(graph);
  std::vector<std::optional<Parts>> parts(tasks);
  for (Task& task : graph.tasks) task.position *= 2;
  for (std::size_t i = 0; i < tasks; ++i) {
    const Task& launch = graph.tasks[i];
    const bool locks = launch.holds && graph.resources[to_index(*launch.holds)].kind == ResourceKind::kDriverLock;
    if (!locks || launched[i].kernels != 1 || launched[i].others > 0) continue;
    const Nanoseconds held(std::llround(static_cast<double>(launch.duration.count()) * lock_part));
    const Nanoseconds own = std::min(launch.duration - held, launched[i].soonest);
    if (own <= Nanoseconds(0)) continue;
    Task locked = launch;
    locked.duration -= own;
    ++locked.position;
    graph.tasks[i].kind = TaskKind::kHostWork;
    graph.tasks[i].duration = own;
    graph.tasks[i].holds.reset();
    parts[i] = Parts{graph.add_task(locked), own};
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
