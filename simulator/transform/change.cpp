#include "simulator/transform/change.hpp"

#include "simulator/engine/flat_run.hpp"

namespace cohort {

Result<void> check_acyclic(const TaskGraph& graph) {
  if (const auto times = run_flat(graph); !times) return tl::unexpected<Error>(times.error());
  return {};
}

Change compact(TaskGraph& graph, const std::vector<bool>& keep) {
  Change change;
  change.moved.resize(graph.tasks.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (!keep[i]) continue;
    change.moved[i] = TaskId(kept);
    graph.tasks[kept++] = graph.tasks[i];
  }
  change.tasks_removed = graph.tasks.size() - kept;
  graph.tasks.resize(kept);
  std::size_t edges = 0;
  for (const Edge& edge : graph.edges) {
    const auto from = change.moved[to_index(edge.from)];
    const auto to = change.moved[to_index(edge.to)];
    if (!from || !to) continue;
    Edge& place = graph.edges[edges++];
    place = edge;
    place.from = *from;
    place.to = *to;
  }
  change.edges_removed = graph.edges.size() - edges;
  graph.edges.resize(edges);
  return change;
}

Result<std::vector<bool>> mask_of(const TaskGraph& graph, std::span<const TaskId> selection) {
  std::vector<bool> mask(graph.tasks.size(), false);
  for (const TaskId task : selection) {
    if (to_index(task) >= graph.tasks.size()) {
      return fail(ErrorCode::kInvalidInput, "task {} is selected of a graph of {}", to_index(task), graph.tasks.size());
    }
    mask[to_index(task)] = true;
  }
  return mask;
}

}  // namespace cohort
