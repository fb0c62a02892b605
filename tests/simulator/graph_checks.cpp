#include "tests/simulator/graph_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cohort {

std::vector<TaskTimes> run_times(const TaskGraph& graph) {
  Result<std::vector<TaskTimes>> times = run_flat(graph);
  EXPECT_TRUE(times.has_value()) << times.error().message;
  return times ? std::move(*times) : std::vector<TaskTimes>(graph.tasks.size());
}

Nanoseconds last_end(const std::vector<TaskTimes>& times) {
  Nanoseconds last{};
  for (const TaskTimes& each : times) last = std::max(last, each.end);
  return last;
}

Reach reach_of(const TaskGraph& graph) {
  const std::size_t tasks = graph.tasks.size();
  std::vector<std::vector<std::size_t>> next(tasks);
  for (const Edge& edge : graph.edges) next[to_index(edge.from)].push_back(to_index(edge.to));
  for (const auto& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) next[to_index(queue[i - 1])].push_back(to_index(queue[i]));
  }
  Reach reach(tasks, std::vector<bool>(tasks, false));
  for (std::size_t from = 0; from < tasks; ++from) {
    std::vector<std::size_t> open{from};
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t to : next[at]) {
        if (reach[from][to]) continue;
        reach[from][to] = true;
        open.push_back(to);
      }
    }
  }
  return reach;
}

void expect_counted(const TaskGraph& before, const TaskGraph& after, const Change& change) {
  EXPECT_EQ(after.tasks.size(), before.tasks.size() + change.tasks_added - change.tasks_removed);
  EXPECT_EQ(after.edges.size(), before.edges.size() + change.edges_added - change.edges_removed);
  EXPECT_TRUE(check_acyclic(after));
}

std::vector<std::optional<TaskId>> moved(const TaskGraph& before, const Change& change) {
  if (!change.moved.empty()) return change.moved;
  std::vector<std::optional<TaskId>> same;
  for (std::size_t i = 0; i < before.tasks.size(); ++i) same.emplace_back(TaskId(i));
  return same;
}

}  // namespace cohort
