#include "simulator/transform/edit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace cohort {
namespace {

/// Edges into and out of each task, for tasks that are few.
struct Neighbours {
  std::vector<std::vector<Edge>> in, out;

  explicit Neighbours(const TaskGraph& graph, const std::vector<bool>& of) {
    in.resize(graph.tasks.size());
    out.resize(graph.tasks.size());
    for (const Edge& edge : graph.edges) {
      if (of[to_index(edge.to)]) in[to_index(edge.to)].push_back(edge);
      if (of[to_index(edge.from)]) out[to_index(edge.from)].push_back(edge);
    }
  }
};

/// The edge that stands for going through a task of no length.
Edge joined(const Edge& into, const Edge& out_of) {
  Edge edge = into;
  edge.to = out_of.to;
  edge.kind = out_of.kind;
  edge.delay = std::max(Nanoseconds(0), into.delay) + std::max(Nanoseconds(0), out_of.delay);
  return edge;
}

/// Adds an edge, unless one from the same anchor is there: of the two the longer delay stays.
void add_longest(std::vector<Edge>& edges, const Edge& edge) {
  for (Edge& other : edges) {
    if (other.from != edge.from || other.to != edge.to || other.anchor != edge.anchor) continue;
    other.delay = std::max(other.delay, edge.delay);
    return;
  }
  edges.push_back(edge);
}

/// The order of queues around selected tasks, as edges.
void add_queue_neighbours(const TaskGraph& graph, const std::vector<bool>& selected, Neighbours& neighbours) {
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      const Edge edge{queue[i - 1], queue[i], EdgeKind::kProgramOrder, {}, Anchor::kEnd};
      if (selected[to_index(edge.to)]) neighbours.in[to_index(edge.to)].push_back(edge);
      if (selected[to_index(edge.from)]) neighbours.out[to_index(edge.from)].push_back(edge);
    }
  }
}

/// Whether the order of a queue says as much already.
bool is_order_of_queue(const TaskGraph& graph, const Edge& edge) {
  const Task& from = graph.task(edge.from);
  const Task& to = graph.task(edge.to);
  return from.resource == to.resource && edge.anchor == Anchor::kEnd && edge.delay == Nanoseconds(0) &&
         graph.resources[to_index(from.resource)].discipline == Discipline::kInOrder;
}

}  // namespace

Result<Change> scale(TaskGraph& graph, const Selection& selection, double times_faster) {
  if (!(times_faster > 0) || !std::isfinite(times_faster)) {
    return fail(ErrorCode::kInvalidInput, "a factor of {}; it must be positive", times_faster);
  }
  COHORT_CHECK(mask_of(graph, selection));
  const auto scaled = [&](TaskId id) { return static_cast<double>(graph.task(id).duration.count()) / times_faster; };
  for (const TaskId id : selection) {
    if (scaled(id) > static_cast<double>(kLongestGraph.count())) {
      return fail(ErrorCode::kInvalidInput, "{} made {} times faster would take months", graph.label(id), times_faster);
    }
  }
  Change change;
  for (const TaskId id : selection) {
    Task& task = graph.tasks[to_index(id)];
    const Nanoseconds duration(std::llround(scaled(id)));
    if (duration != task.duration) ++change.tasks_changed;
    task.duration = duration;
  }
  return change;
}

Result<Change> insert(TaskGraph& graph, const Task& task, std::span<const Edge> edges) {
  const std::size_t tasks = graph.tasks.size();
  const std::size_t old_edges = graph.edges.size();
  graph.add_task(task);
  graph.edges.insert(graph.edges.end(), edges.begin(), edges.end());
  if (auto acyclic = check_acyclic(graph); !acyclic) {
    graph.tasks.resize(tasks);
    graph.edges.resize(old_edges);
    return tl::unexpected<Error>(acyclic.error());
  }
  Change change;
  change.tasks_added = 1;
  change.edges_added = edges.size();
  return change;
}

Result<Change> remove(TaskGraph& graph, const Selection& selection, Removal removal) {
  COHORT_TRY(const std::vector<bool> selected, mask_of(graph, selection));
  std::size_t added = 0;
  if (removal == Removal::kBridge) {
    Neighbours neighbours(graph, selected);
    add_queue_neighbours(graph, selected, neighbours);
    for (const TaskId id : selection) {
      const std::size_t removed = to_index(id);
      for (const Edge& into : neighbours.in[removed]) {
        for (const Edge& out_of : neighbours.out[removed]) {
          const Edge edge = joined(into, out_of);
          if (edge.from == edge.to) continue;
          // Chains of removed tasks are bridged link by link.
          if (selected[to_index(edge.to)]) add_longest(neighbours.in[to_index(edge.to)], edge);
          if (selected[to_index(edge.from)]) add_longest(neighbours.out[to_index(edge.from)], edge);
          if (selected[to_index(edge.to)] || selected[to_index(edge.from)] || is_order_of_queue(graph, edge)) continue;
          graph.edges.push_back(edge);
          ++added;
        }
      }
    }
  }
  std::vector<bool> keep = selected;
  keep.flip();
  Change change = compact(graph, keep);
  change.edges_added = added;
  return change;
}

std::size_t chain_stream(TaskGraph& graph, ResourceId stream, const std::vector<bool>& chosen, Nanoseconds gap) {
  std::vector<TaskId> ops;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].resource == stream) ops.push_back(TaskId(i));
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
  std::size_t added = 0;
  for (std::size_t i = 1; i < ops.size(); ++i) {
    if (!chosen[to_index(ops[i - 1])] && !chosen[to_index(ops[i])]) continue;
    graph.add_edge(ops[i - 1], ops[i], EdgeKind::kStreamOrder, gap);
    ++added;
  }
  return added;
}

Result<Change> reschedule(TaskGraph& graph, const Selection& selection, ResourceId resource, Nanoseconds gap) {
  COHORT_TRY(const std::vector<bool> selected, mask_of(graph, selection));
  if (to_index(resource) >= graph.resources.size()) {
    return fail(ErrorCode::kInvalidInput, "resource {} of {}", to_index(resource), graph.resources.size());
  }
  const TaskGraph before = graph;
  Change change;
  const Neighbours neighbours(graph, selected);
  std::vector<Edge> kept;
  for (const Edge& edge : graph.edges) {
    const bool moves = selected[to_index(edge.from)] || selected[to_index(edge.to)];
    if (moves && edge.kind == EdgeKind::kStreamOrder) {
      ++change.edges_removed;
    } else {
      kept.push_back(edge);
    }
  }
  // Close the order of the streams that tasks leave: from the last op that stays to the next that does.
  for (const TaskId id : selection) {
    for (const Edge& into : neighbours.in[to_index(id)]) {
      if (into.kind != EdgeKind::kStreamOrder || selected[to_index(into.from)]) continue;
      std::vector<TaskId> open{id};
      std::set<TaskId> seen;
      while (!open.empty()) {
        const TaskId moved = open.back();
        open.pop_back();
        for (const Edge& out : neighbours.out[to_index(moved)]) {
          if (out.kind != EdgeKind::kStreamOrder || !seen.insert(out.to).second) continue;
          if (selected[to_index(out.to)]) {
            open.push_back(out.to);
          } else {
            kept.push_back(
                {into.from, out.to, EdgeKind::kStreamOrder, std::max(into.delay, Nanoseconds(0)), into.anchor});
            ++change.edges_added;
          }
        }
      }
    }
  }
  graph.edges = std::move(kept);
  for (const TaskId id : selection) {
    Task& task = graph.tasks[to_index(id)];
    if (task.resource != resource) ++change.tasks_changed;
    task.resource = resource;
  }
  if (graph.resources[to_index(resource)].discipline == Discipline::kOverlapping) {
    change.edges_added += chain_stream(graph, resource, selected, gap);
  }
  if (auto acyclic = check_acyclic(graph); !acyclic) {
    graph = before;
    return tl::unexpected<Error>(acyclic.error());
  }
  return change;
}

}  // namespace cohort
