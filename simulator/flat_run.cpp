#include "simulator/flat_run.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace cohort {
namespace {

/// Outgoing edges of all tasks in one list, launch order among them; what the loop needs of a task in one place.
struct CompressedRows {
  struct Out {
    std::int64_t delay = 0;
    std::uint32_t to = 0;
    Anchor anchor = Anchor::kEnd;
  };
  struct Node {
    std::int64_t start = 0;  ///< the latest that edges have asked for so far
    std::int64_t duration = 0;
    std::uint32_t first = 0;    ///< its edges in `out`, up to the next node's
    std::uint32_t missing = 0;  ///< edges into it that have not said yet
  };
  std::vector<Node> nodes;  ///< by task; one more at the end
  std::vector<Out> out;
};

CompressedRows compress(const TaskGraph& graph) {
  const std::vector<std::vector<TaskId>> queues = queues_of(graph);
  const std::size_t tasks = graph.tasks.size();
  CompressedRows rows;
  rows.nodes.resize(tasks + 1);
  const auto each_link = [&](const auto& function) {
    for (const Edge& edge : graph.edges) function(edge.from, edge.to, edge.delay.count(), edge.anchor);
    for (const std::vector<TaskId>& queue : queues) {
      for (std::size_t i = 1; i < queue.size(); ++i) function(queue[i - 1], queue[i], 0, Anchor::kEnd);
    }
  };
  // A node's `first` counts its edges, then stands behind them, and ends in front of them.
  std::uint32_t count = 0;
  each_link([&](TaskId from, TaskId to, std::int64_t /*delay*/, Anchor /*anchor*/) {
    ++rows.nodes[to_index(from)].first;
    ++rows.nodes[to_index(to)].missing;
    ++count;
  });
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < tasks; ++i) {
    rows.nodes[i].duration = graph.tasks[i].duration.count();
    before += rows.nodes[i].first;
    rows.nodes[i].first = before;
  }
  rows.nodes[tasks].first = count;
  rows.out.resize(count);
  each_link([&](TaskId from, TaskId to, std::int64_t delay, Anchor anchor) {
    rows.out[--rows.nodes[to_index(from)].first] = {delay, static_cast<std::uint32_t>(to), anchor};
  });
  return rows;
}

/// Lets go what waits for a task whose start is known; `offer` gets what waits for nothing more.
template <class Offer>
void release(CompressedRows& rows, std::uint32_t task, const Offer& offer) {
  const std::int64_t start = rows.nodes[task].start;
  const std::int64_t end = start + rows.nodes[task].duration;
  const std::uint32_t last = rows.nodes[task + 1].first;
  for (std::uint32_t i = rows.nodes[task].first; i < last; ++i) {
    const CompressedRows::Out& out = rows.out[i];
    CompressedRows::Node& next = rows.nodes[out.to];
    next.start = std::max({next.start, start, (out.anchor == Anchor::kEnd ? end : start) + out.delay});
    if (--next.missing == 0) offer(out.to, next.start);
  }
}

std::size_t run_in_any_order(const TaskGraph& graph, CompressedRows& rows) {
  std::vector<std::uint32_t> ready;
  for (std::size_t i = graph.tasks.size(); i-- > 0;) {
    if (rows.nodes[i].missing == 0) ready.push_back(static_cast<std::uint32_t>(i));
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::uint32_t task = ready.back();
    ready.pop_back();
    release(rows, task, [&](std::uint32_t next, std::int64_t /*start*/) { ready.push_back(next); });
  }
  return done;
}

std::size_t run_by_time(const TaskGraph& graph, CompressedRows& rows) {
  using Waiting = std::tuple<std::int64_t, std::int64_t, std::uint32_t>;  // feasible start, since when ready, task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> heap;
  std::vector<std::int64_t> free(graph.resources.size(), 0);
  for (std::uint32_t i = 0; i < graph.tasks.size(); ++i) {
    if (rows.nodes[i].missing == 0) heap.emplace(0, 0, i);
  }
  const auto taken = [&](ResourceId resource) -> std::int64_t* {
    const std::size_t index = to_index(resource);
    return graph.resources[index].discipline == Discipline::kFirstCome ? &free[index] : nullptr;
  };
  std::size_t done = 0;
  while (!heap.empty()) {
    const auto [time, since, task] = heap.top();
    heap.pop();
    std::int64_t* const own = taken(graph.tasks[task].resource);
    std::int64_t* const held = graph.tasks[task].holds ? taken(*graph.tasks[task].holds) : nullptr;
    std::int64_t start = time;
    if (own != nullptr) start = std::max(start, *own);
    if (held != nullptr) start = std::max(start, *held);
    if (start > time) {
      heap.emplace(start, since, task);
      continue;
    }
    rows.nodes[task].start = start;
    release(rows, task, [&](std::uint32_t next, std::int64_t ready) { heap.emplace(ready, ready, next); });
    const std::int64_t end = start + rows.nodes[task].duration;
    if (own != nullptr) *own = end;
    if (held != nullptr) *held = end;
    ++done;
  }
  return done;
}

}  // namespace

Result<std::vector<TaskTimes>> run_flat(const TaskGraph& graph) {
  COHORT_CHECK(check_ranges(graph));
  CompressedRows rows = compress(graph);
  const bool by_time = std::any_of(graph.resources.begin(), graph.resources.end(), [](const Resource& resource) {
    return resource.discipline == Discipline::kFirstCome;
  });
  const std::size_t done = by_time ? run_by_time(graph, rows) : run_in_any_order(graph, rows);
  if (done < graph.tasks.size()) COHORT_CHECK(explain_cycle(graph));
  std::vector<TaskTimes> times(graph.tasks.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i].start = Nanoseconds(rows.nodes[i].start);
    times[i].end = Nanoseconds(rows.nodes[i].start + rows.nodes[i].duration);
  }
  return times;
}

}  // namespace cohort
