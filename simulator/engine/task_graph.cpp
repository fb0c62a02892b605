#include "simulator/engine/task_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <utility>

namespace cohort {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using GraphEdge = boost::graph_traits<Graph>::edge_descriptor;

std::string where(const TaskGraph& graph, std::size_t index) {
  const Task& task = graph.tasks[index];
  if (to_index(task.label) >= graph.labels.size()) return fmt::format("task {}", index);
  return fmt::format("task {} ({}, iteration {})", index, graph.labels[to_index(task.label)], task.iteration);
}

}  // namespace

Result<void> check_ranges(const TaskGraph& graph) {
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (to_index(task.label) >= graph.labels.size()) {
      return fail(ErrorCode::kInvalidInput, "{}: label {} of {}", where(graph, i), to_index(task.label),
                  graph.labels.size());
    }
    if (to_index(task.resource) >= graph.resources.size()) {
      return fail(ErrorCode::kInvalidInput, "{}: resource {} of {}", where(graph, i), to_index(task.resource),
                  graph.resources.size());
    }
    if (task.holds && to_index(*task.holds) >= graph.resources.size()) {
      return fail(ErrorCode::kInvalidInput, "{}: holds resource {} of {}", where(graph, i), to_index(*task.holds),
                  graph.resources.size());
    }
    if (task.cores < 0) return fail(ErrorCode::kInvalidInput, "{}: {} cores", where(graph, i), task.cores);
    if (task.duration < Nanoseconds(0)) {
      return fail(ErrorCode::kInvalidInput, "{}: duration of {} ns", where(graph, i), task.duration.count());
    }
  }
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge& edge = graph.edges[i];
    if (std::max(to_index(edge.from), to_index(edge.to)) >= graph.tasks.size()) {
      return fail(ErrorCode::kInvalidInput, "edge {}: from task {} to task {} of {}", i, to_index(edge.from),
                  to_index(edge.to), graph.tasks.size());
    }
    if (edge.delay < Nanoseconds(0) && edge.anchor == Anchor::kStart) {
      return fail(ErrorCode::kInvalidInput, "edge {} from {}: delay of {} ns", i, where(graph, to_index(edge.from)),
                  edge.delay.count());
    }
  }
  return check_total_time(graph);
}

Result<void> check_total_time(const TaskGraph& graph, double copies) {
  const auto most = static_cast<double>(kLongestGraph.count());
  double durations = 0;
  for (const Task& task : graph.tasks) durations += static_cast<double>(task.duration.count());
  double delays = 0;
  for (const Edge& edge : graph.edges) delays += static_cast<double>(std::max(edge.delay, Nanoseconds(0)).count());
  if ((durations + delays) * copies <= most) return {};
  // A path leaves each task once: of thousands of moments that one clock holds, the last counts.
  std::vector<Nanoseconds> longest(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    Nanoseconds& delay = longest[to_index(edge.from)];
    delay = std::max(delay, edge.delay);
  }
  delays = 0;
  for (const Nanoseconds delay : longest) delays += static_cast<double>(delay.count());
  if ((durations + delays) * copies <= most) return {};
  constexpr double kDay = 24.0 * 3600 * 1e9;
  return fail(ErrorCode::kInvalidInput, "the tasks take {:.3g} days one after another; {:.3g} are the most",
              (durations + delays) * copies / kDay, most / kDay);
}

namespace {

/// Of equal positions the lower id first. Positions are gathered once: tasks lie far apart in memory.
void sort_by_position(const TaskGraph& graph, std::vector<TaskId>& queue) {
  std::vector<std::pair<std::int64_t, TaskId>> keyed;
  keyed.reserve(queue.size());
  for (const TaskId id : queue) keyed.emplace_back(graph.task(id).position, id);
  std::sort(keyed.begin(), keyed.end());
  std::ranges::transform(keyed, queue.begin(), [](const auto& key) { return key.second; });
}

}  // namespace

std::vector<std::vector<TaskId>> queues_of(const TaskGraph& graph) {
  std::vector<std::vector<TaskId>> queues(graph.resources.size());
  std::vector<bool> sorted(graph.resources.size(), true);
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const std::size_t resource = to_index(task.resource);
    if (graph.resources[resource].discipline != Discipline::kInOrder) continue;
    std::vector<TaskId>& queue = queues[resource];
    if (!queue.empty() && graph.task(queue.back()).position > task.position) sorted[resource] = false;
    queue.push_back(TaskId(i));
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!sorted[i]) sort_by_position(graph, queues[i]);
  }
  return queues;
}

namespace {

/// The first cycle that a depth-first search meets.
class CycleVisitor : public boost::default_dfs_visitor {
 public:
  CycleVisitor(std::vector<Vertex>& open, std::vector<Vertex>& cycle) : open_(&open), cycle_(&cycle) {}

  void discover_vertex(Vertex v, const Graph& /*graph*/) const { open_->push_back(v); }
  void finish_vertex(Vertex /*v*/, const Graph& /*graph*/) const { open_->pop_back(); }
  void back_edge(GraphEdge edge, const Graph& graph) const {
    if (cycle_->empty()) {
      cycle_->assign(std::find(open_->begin(), open_->end(), boost::target(edge, graph)), open_->end());
    }
  }

 private:
  std::vector<Vertex>* open_;
  std::vector<Vertex>* cycle_;
};

/// Kahn's algorithm in order of id; shorter than the graph where it has a cycle.
std::vector<TaskId> topological_order(const TaskGraph& graph, const TaskOrder& order) {
  constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> missing(graph.tasks.size(), 0);
  std::vector<std::uint32_t> next(graph.tasks.size(), kNone);
  for (const Edge& edge : graph.edges) ++missing[to_index(edge.to)];
  for (const std::vector<TaskId>& queue : order.queues) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      next[to_index(queue[i - 1])] = static_cast<std::uint32_t>(queue[i]);
      ++missing[to_index(queue[i])];
    }
  }
  std::vector<TaskId> sorted;
  sorted.reserve(graph.tasks.size());
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) sorted.push_back(TaskId(i));
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::size_t from = to_index(sorted[i]);
    for (std::uint32_t k = order.first_edge[from]; k < order.first_edge[from + 1]; ++k) {
      const TaskId to = graph.edges[order.edges[k]].to;
      if (--missing[to_index(to)] == 0) sorted.push_back(to);
    }
    if (next[from] != kNone && --missing[next[from]] == 0) sorted.push_back(TaskId(next[from]));
  }
  return sorted;
}

}  // namespace

Result<void> explain_cycle(const TaskGraph& graph) {
  Graph boost_graph(graph.tasks.size());
  for (const Edge& edge : graph.edges) boost::add_edge(to_index(edge.from), to_index(edge.to), boost_graph);
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      boost::add_edge(to_index(queue[i - 1]), to_index(queue[i]), boost_graph);
    }
  }
  std::vector<Vertex> open;
  std::vector<Vertex> cycle;
  boost::depth_first_search(boost_graph, boost::visitor(CycleVisitor(open, cycle)));
  constexpr std::size_t kMostNames = 12;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(cycle.size(), kMostNames); ++i) names.push_back(graph.label(TaskId(cycle[i])));
  if (cycle.size() > kMostNames) names.push_back(fmt::format("{} more", cycle.size() - kMostNames));
  if (!names.empty()) names.push_back(names.front());
  return fail(ErrorCode::kInvalidInput, "tasks wait for each other: {}", fmt::join(names, " -> "));
}

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::kStep:
      return "step";
    case TaskKind::kInput:
      return "input";
    case TaskKind::kLaunch:
      return "launch";
    case TaskKind::kCall:
      return "call";
    case TaskKind::kHostWork:
      return "host work";
    case TaskKind::kWait:
      return "wait";
    case TaskKind::kKernel:
      return "kernel";
    case TaskKind::kCopy:
      return "copy";
    case TaskKind::kMemset:
      return "memset";
    case TaskKind::kMark:
      return "mark";
  }
  return "";
}

bool is_device_work(TaskKind kind) {
  return kind == TaskKind::kKernel || kind == TaskKind::kCopy || kind == TaskKind::kMemset;
}

std::string_view to_string(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kProgramOrder:
      return "program order";
    case EdgeKind::kStreamOrder:
      return "stream order";
    case EdgeKind::kEvent:
      return "event";
    case EdgeKind::kBuffer:
      return "buffer";
    case EdgeKind::kLaunch:
      return "launch";
    case EdgeKind::kSynchronisation:
      return "synchronisation";
    case EdgeKind::kResource:
      return "resource";
    case EdgeKind::kPinned:
      return "pinned";
  }
  return "";
}

LabelId TaskGraph::add_label(std::string label) {
  labels.push_back(std::move(label));
  return LabelId(labels.size() - 1);
}

ResourceId TaskGraph::add_resource(std::string name, ResourceKind kind, Discipline discipline) {
  resources.push_back({std::move(name), kind, discipline, 0});
  return ResourceId(resources.size() - 1);
}

TaskId TaskGraph::add_task(const Task& task) {
  tasks.push_back(task);
  return TaskId(tasks.size() - 1);
}

void TaskGraph::add_edge(TaskId from, TaskId to, EdgeKind kind, Nanoseconds delay, Anchor anchor) {
  edges.push_back({from, to, kind, delay, anchor});
}

Result<TaskOrder> order_tasks(const TaskGraph& graph) {
  COHORT_CHECK(check_ranges(graph));
  TaskOrder order;
  order.queues = queues_of(graph);
  order.first_edge.assign(graph.tasks.size() + 1, 0);
  for (const Edge& edge : graph.edges) ++order.first_edge[to_index(edge.from) + 1];
  for (std::size_t i = 1; i < order.first_edge.size(); ++i) order.first_edge[i] += order.first_edge[i - 1];
  order.edges.resize(graph.edges.size());
  std::vector<std::uint32_t> next(order.first_edge.begin(), order.first_edge.end() - 1);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    order.edges[next[to_index(graph.edges[i].from)]++] = static_cast<std::uint32_t>(i);
  }
  order.topological = topological_order(graph, order);
  if (order.topological.size() < graph.tasks.size()) COHORT_CHECK(explain_cycle(graph));
  return order;
}

}  // namespace cohort
