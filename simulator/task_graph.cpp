#include "simulator/task_graph.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <iterator>
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

Result<void> check(const TaskGraph& graph) {
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
    if (edge.delay < Nanoseconds(0)) {
      return fail(ErrorCode::kInvalidInput, "edge {} from {}: delay of {} ns", i, where(graph, to_index(edge.from)),
                  edge.delay.count());
    }
  }
  return {};
}

std::vector<std::vector<TaskId>> queues_of(const TaskGraph& graph) {
  std::vector<std::vector<TaskId>> queues(graph.resources.size());
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    queues[to_index(graph.tasks[i].resource)].push_back(TaskId(i));
  }
  for (std::vector<TaskId>& queue : queues) {
    std::stable_sort(queue.begin(), queue.end(),
                     [&](TaskId a, TaskId b) { return graph.task(a).position < graph.task(b).position; });
  }
  return queues;
}

/// The order in which a depth-first search leaves tasks, and the first cycle it meets.
class OrderVisitor : public boost::default_dfs_visitor {
 public:
  OrderVisitor(std::vector<Vertex>& finished, std::vector<Vertex>& open, std::vector<Vertex>& cycle)
      : finished_(&finished), open_(&open), cycle_(&cycle) {}

  void discover_vertex(Vertex v, const Graph& /*graph*/) const { open_->push_back(v); }
  void finish_vertex(Vertex v, const Graph& /*graph*/) const {
    open_->pop_back();
    finished_->push_back(v);
  }
  void back_edge(GraphEdge edge, const Graph& graph) const {
    if (cycle_->empty()) {
      cycle_->assign(std::find(open_->begin(), open_->end(), boost::target(edge, graph)), open_->end());
    }
  }

 private:
  std::vector<Vertex>* finished_;
  std::vector<Vertex>* open_;
  std::vector<Vertex>* cycle_;
};

Result<std::vector<TaskId>> topological_order(const TaskGraph& graph, const std::vector<std::vector<TaskId>>& queues) {
  Graph boost_graph(graph.tasks.size());
  for (const Edge& edge : graph.edges) boost::add_edge(to_index(edge.from), to_index(edge.to), boost_graph);
  for (const std::vector<TaskId>& queue : queues) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      boost::add_edge(to_index(queue[i - 1]), to_index(queue[i]), boost_graph);
    }
  }
  std::vector<Vertex> finished;
  std::vector<Vertex> open;
  std::vector<Vertex> cycle;
  finished.reserve(graph.tasks.size());
  boost::depth_first_search(boost_graph, boost::visitor(OrderVisitor(finished, open, cycle)));
  if (!cycle.empty()) {
    std::vector<std::string> names;
    std::transform(cycle.begin(), cycle.end(), std::back_inserter(names),
                   [&](Vertex v) { return graph.label(TaskId(v)); });
    names.push_back(names.front());
    return fail(ErrorCode::kInvalidInput, "tasks wait for each other: {}", fmt::join(names, " -> "));
  }
  std::vector<TaskId> order(finished.size());
  std::transform(finished.rbegin(), finished.rend(), order.begin(), [](Vertex v) { return TaskId(v); });
  return order;
}

}  // namespace

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::kStep:
      return "step";
    case TaskKind::kInput:
      return "input";
    case TaskKind::kLaunch:
      return "launch";
  }
  return "";
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
  }
  return "";
}

LabelId TaskGraph::add_label(std::string label) {
  labels.push_back(std::move(label));
  return LabelId(labels.size() - 1);
}

ResourceId TaskGraph::add_resource(std::string name, ResourceKind kind) {
  resources.push_back({std::move(name), kind});
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
  COHORT_CHECK(check(graph));
  TaskOrder order;
  order.queues = queues_of(graph);
  COHORT_TRY(order.topological, topological_order(graph, order.queues));
  order.first_edge.assign(graph.tasks.size() + 1, 0);
  for (const Edge& edge : graph.edges) ++order.first_edge[to_index(edge.from) + 1];
  for (std::size_t i = 1; i < order.first_edge.size(); ++i) order.first_edge[i] += order.first_edge[i - 1];
  order.edges.resize(graph.edges.size());
  std::vector<std::uint32_t> next(order.first_edge.begin(), order.first_edge.end() - 1);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    order.edges[next[to_index(graph.edges[i].from)]++] = static_cast<std::uint32_t>(i);
  }
  return order;
}

}  // namespace cohort
