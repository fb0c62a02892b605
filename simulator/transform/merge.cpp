#include "simulator/transform/merge.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace cohort {
namespace {

/// Sends edges of merged tasks to the one that stays, and drops what that makes twice or of one task to
/// itself.
std::size_t redirect(TaskGraph& graph, const std::vector<TaskId>& stands_for, const std::vector<bool>& drop_into) {
  std::vector<Edge> edges;
  edges.reserve(graph.edges.size());
  for (Edge edge : graph.edges) {
    if (drop_into[to_index(edge.to)]) continue;
    edge.from = stands_for[to_index(edge.from)];
    edge.to = stands_for[to_index(edge.to)];
    if (edge.from != edge.to) edges.push_back(edge);
  }
  const auto key = [](const Edge& edge) { return std::tie(edge.from, edge.to, edge.anchor, edge.kind); };
  std::stable_sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) {
    return key(a) != key(b) ? key(a) < key(b) : a.delay > b.delay;
  });
  edges.erase(std::unique(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) { return key(a) == key(b); }),
              edges.end());
  const std::size_t removed = graph.edges.size() - edges.size();
  graph.edges = std::move(edges);
  return removed;
}

/// Spells out the order of queues that merged tasks leave, so that it holds for the task they become.
std::size_t keep_queue_order(TaskGraph& graph, const std::vector<TaskId>& stands_for) {
  std::size_t added = 0;
  const auto leaves = [&](TaskId task) {
    const TaskId stays = stands_for[to_index(task)];
    return stays != task && graph.task(stays).resource != graph.task(task).resource;
  };
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      if (!leaves(queue[i - 1]) && !leaves(queue[i])) continue;
      graph.add_edge(queue[i - 1], queue[i], EdgeKind::kProgramOrder);
      ++added;
    }
  }
  return added;
}

/// What follows a task that goes waits for what stood before it on the same stream.
std::size_t bridge_streams(TaskGraph& graph, const std::vector<TaskId>& stands_for) {
  const std::size_t edges = graph.edges.size();
  std::vector<std::vector<Edge>> into(graph.tasks.size());
  std::vector<std::vector<Edge>> out(graph.tasks.size());
  const auto goes = [&](TaskId task) { return stands_for[to_index(task)] != task; };
  const auto note = [&](const Edge& edge) {
    if (goes(edge.from)) out[to_index(edge.from)].push_back(edge);
    if (goes(edge.to)) into[to_index(edge.to)].push_back(edge);
  };
  for (const Edge& edge : graph.edges) {
    if (edge.kind == EdgeKind::kStreamOrder) note(edge);
  }
  for (std::size_t i = 0; i < into.size(); ++i) {
    for (const Edge& before : into[i]) {
      for (const Edge& behind : out[i]) {
        Edge bridge = behind;
        bridge.from = before.from;
        bridge.delay = std::max(Nanoseconds(0), behind.delay);  // nobody recorded that these two overlap
        if (graph.task(bridge.from).resource != graph.task(bridge.to).resource) continue;
        graph.edges.push_back(bridge);
        note(bridge);  // of tasks that go and follow each other, those with larger ids bridge on
      }
    }
  }
  return graph.edges.size() - edges;
}

Result<Change> collapse(TaskGraph& graph, const std::vector<TaskId>& stands_for, bool drop_others_edges) {
  std::vector<bool> keep(graph.tasks.size());
  for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = stands_for[i] == TaskId(i);
  std::vector<bool> drop_into(graph.tasks.size(), false);
  if (drop_others_edges) {
    drop_into = keep;
    drop_into.flip();
  }
  const std::size_t edges_removed = redirect(graph, stands_for, drop_into);
  Change change = compact(graph, keep);
  change.edges_removed += edges_removed;
  COHORT_CHECK(check_acyclic(graph));
  return change;
}

Result<void> point_to_first(const TaskGraph& graph, const Selection& tasks, std::vector<TaskId>& stands_for) {
  COHORT_CHECK(mask_of(graph, tasks));
  for (const TaskId task : tasks) {
    if (stands_for[to_index(task)] != task) {
      return fail(ErrorCode::kInvalidInput, "task {} ({}) is in two groups", to_index(task), graph.label(task));
    }
    stands_for[to_index(task)] = tasks.front();
  }
  return {};
}

std::vector<TaskId> each_itself(const TaskGraph& graph) {
  std::vector<TaskId> ids(graph.tasks.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = TaskId(i);
  return ids;
}

}  // namespace

Result<Change> merge(TaskGraph& graph, std::span<const Fusion> fusions) {
  std::vector<TaskId> stands_for = each_itself(graph);
  for (const Fusion& fusion : fusions) COHORT_CHECK(point_to_first(graph, fusion.tasks, stands_for));
  TaskGraph fused = graph;
  for (const Fusion& fusion : fusions) {
    if (fusion.tasks.empty()) continue;
    Task& task = fused.tasks[to_index(fusion.tasks.front())];
    task.duration = fusion.duration;
    task.waves = fusion.waves;
  }
  const std::size_t added = keep_queue_order(fused, stands_for);
  COHORT_TRY(Change change, collapse(fused, stands_for, false));
  change.edges_added = added;
  change.tasks_changed = fusions.size();
  graph = std::move(fused);
  return change;
}

Result<Change> share(TaskGraph& graph, std::span<const Selection> groups) {
  std::vector<TaskId> stands_for = each_itself(graph);
  for (const Selection& group : groups) COHORT_CHECK(point_to_first(graph, group, stands_for));
  TaskGraph shared = graph;
  const std::size_t added = bridge_streams(shared, stands_for);
  COHORT_TRY(Change change, collapse(shared, stands_for, true));
  change.edges_added = added;
  graph = std::move(shared);
  return change;
}

std::vector<Selection> groups_across_members(const TaskGraph& graph, const Selection& selection) {
  std::map<std::tuple<std::int64_t, std::uint32_t, TaskKind, LabelId>, Selection> groups;
  for (const TaskId id : selection) {
    const Task& task = graph.task(id);
    if (task.step) groups[{task.iteration, *task.step, task.kind, task.label}].push_back(id);
  }
  std::vector<Selection> found;
  for (auto& [key, group] : groups) {
    if (group.size() > 1) found.push_back(std::move(group));
  }
  return found;
}

}  // namespace cohort
