#include "simulator/transform/buffers.hpp"

#include <algorithm>
#include <map>

namespace cohort {
namespace {

using MemberIteration = std::pair<std::int32_t, std::int32_t>;

}  // namespace

Result<Change> repeat(TaskGraph& graph, int times, Nanoseconds stream_gap) {
  if (times < 1) return fail(ErrorCode::kInvalidInput, "{} iterations; at least 1", times);
  const std::size_t tasks = graph.tasks.size();
  const std::size_t edges = graph.edges.size();
  if (tasks == 0 || times == 1) return Change{};
  const auto [least, most] = std::minmax_element(graph.tasks.begin(), graph.tasks.end(),
                                                 [](const Task& a, const Task& b) { return a.position < b.position; });
  const std::int64_t length = most->position - least->position + 1;
  const std::int32_t iterations =
      1 + std::max_element(graph.tasks.begin(), graph.tasks.end(), [](const Task& a, const Task& b) {
            return a.iteration < b.iteration;
          })->iteration;
  Change change;
  for (int k = 1; k < times; ++k) {
    for (std::size_t i = 0; i < tasks; ++i) {
      Task task = graph.tasks[i];
      task.position += length * k;
      task.iteration += iterations * k;
      graph.tasks.push_back(task);
    }
    for (std::size_t i = 0; i < edges; ++i) {
      Edge edge = graph.edges[i];
      edge.from = TaskId(to_index(edge.from) + tasks * static_cast<std::size_t>(k));
      edge.to = TaskId(to_index(edge.to) + tasks * static_cast<std::size_t>(k));
      graph.edges.push_back(edge);
    }
  }
  std::map<ResourceId, std::vector<TaskId>> streams;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const ResourceId resource = graph.tasks[i].resource;
    if (graph.resources[to_index(resource)].discipline == Discipline::kOverlapping)
      streams[resource].push_back(TaskId(i));
  }
  for (auto& [resource, ops] : streams) {
    std::stable_sort(ops.begin(), ops.end(),
                     [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
    for (std::size_t i = 1; i < ops.size(); ++i) {
      if (graph.task(ops[i - 1]).iteration == graph.task(ops[i]).iteration) continue;
      graph.add_edge(ops[i - 1], ops[i], EdgeKind::kStreamOrder, stream_gap);
    }
  }
  change.tasks_added = graph.tasks.size() - tasks;
  change.edges_added = graph.edges.size() - edges;
  COHORT_CHECK(check_acyclic(graph));
  return change;
}

Result<Change> double_buffer(TaskGraph& graph, const Selection& producers, const Selection& consumers, int buffers) {
  if (buffers < 1) return fail(ErrorCode::kInvalidInput, "{} buffers; at least 1", buffers);
  COHORT_TRY(const std::vector<bool> produces, mask_of(graph, producers));
  COHORT_CHECK(mask_of(graph, consumers));
  std::map<MemberIteration, TaskId> last;  // in the order of the graph's positions
  for (const TaskId id : consumers) {
    const Task& task = graph.task(id);
    const auto [place, is_new] = last.try_emplace({task.member, task.iteration}, id);
    if (!is_new && task.position >= graph.task(place->second).position) place->second = id;
  }
  TaskGraph buffered = graph;
  Change change;
  const auto leaves = [&](const Edge& edge) {
    return edge.kind == EdgeKind::kStreamOrder && produces[to_index(edge.to)] && !produces[to_index(edge.from)];
  };
  const std::size_t edges = buffered.edges.size();
  buffered.edges.erase(std::remove_if(buffered.edges.begin(), buffered.edges.end(), leaves), buffered.edges.end());
  change.edges_removed = edges - buffered.edges.size();
  for (const TaskId id : producers) {
    const Task& task = graph.task(id);
    const auto consumer = last.find({task.member, task.iteration - buffers});
    if (consumer == last.end()) continue;
    buffered.add_edge(consumer->second, id, EdgeKind::kBuffer);
    ++change.edges_added;
  }
  COHORT_CHECK(check_acyclic(buffered));
  graph = std::move(buffered);
  return change;
}

}  // namespace cohort
