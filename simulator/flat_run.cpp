#include "simulator/flat_run.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace cohort {
namespace {

/// Outgoing edges of all tasks in one list, launch order among them.
struct CompressedRows {
  struct Out {
    std::int64_t delay = 0;
    std::uint32_t to = 0;
    Anchor anchor = Anchor::kEnd;
  };
  std::vector<std::uint32_t> first;  ///< by task; one more at the end
  std::vector<Out> out;
  std::vector<std::uint32_t> missing;  ///< by task: edges into it
};

CompressedRows compress(const TaskGraph& graph) {
  const std::vector<std::vector<TaskId>> queues = queues_of(graph);
  const std::size_t tasks = graph.tasks.size();
  CompressedRows rows;
  rows.first.assign(tasks + 1, 0);
  rows.missing.assign(tasks, 0);
  std::size_t count = graph.edges.size();
  for (const Edge& edge : graph.edges) {
    ++rows.first[to_index(edge.from) + 1];
    ++rows.missing[to_index(edge.to)];
  }
  for (const std::vector<TaskId>& queue : queues) {
    for (std::size_t i = 1; i < queue.size(); ++i, ++count) {
      ++rows.first[to_index(queue[i - 1]) + 1];
      ++rows.missing[to_index(queue[i])];
    }
  }
  for (std::size_t i = 1; i <= tasks; ++i) rows.first[i] += rows.first[i - 1];
  rows.out.resize(count);
  std::vector<std::uint32_t> next(rows.first.begin(), rows.first.end() - 1);
  for (const Edge& edge : graph.edges) {
    rows.out[next[to_index(edge.from)]++] = {edge.delay.count(), static_cast<std::uint32_t>(edge.to), edge.anchor};
  }
  for (const std::vector<TaskId>& queue : queues) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      rows.out[next[to_index(queue[i - 1])]++] = {0, static_cast<std::uint32_t>(queue[i]), Anchor::kEnd};
    }
  }
  return rows;
}

/// Lets go what waits for a task whose times are known; `offer` gets what waits for nothing more.
template <class Offer>
void release(const TaskGraph& graph, CompressedRows& rows, std::vector<TaskTimes>& times, std::uint32_t task,
             const Offer& offer) {
  const std::int64_t start = times[task].start.count();
  const std::int64_t end = start + graph.tasks[task].duration.count();
  times[task].end = Nanoseconds(end);
  for (std::uint32_t i = rows.first[task]; i < rows.first[task + 1]; ++i) {
    const CompressedRows::Out& out = rows.out[i];
    const std::int64_t allowed = std::max(start, (out.anchor == Anchor::kEnd ? end : start) + out.delay);
    Nanoseconds& ready = times[out.to].start;
    if (allowed > ready.count()) ready = Nanoseconds(allowed);
    if (--rows.missing[out.to] == 0) offer(out.to);
  }
}

std::size_t run_in_any_order(const TaskGraph& graph, CompressedRows& rows, std::vector<TaskTimes>& times) {
  std::vector<std::uint32_t> ready;
  for (std::size_t i = graph.tasks.size(); i-- > 0;) {
    if (rows.missing[i] == 0) ready.push_back(static_cast<std::uint32_t>(i));
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    const std::uint32_t task = ready.back();
    ready.pop_back();
    release(graph, rows, times, task, [&](std::uint32_t next) { ready.push_back(next); });
  }
  return done;
}

std::size_t run_by_time(const TaskGraph& graph, CompressedRows& rows, std::vector<TaskTimes>& times) {
  using Waiting = std::tuple<std::int64_t, std::int64_t, std::uint32_t>;  // feasible start, since when ready, task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> heap;
  std::vector<std::int64_t> free(graph.resources.size(), 0);
  for (std::uint32_t i = 0; i < graph.tasks.size(); ++i) {
    if (rows.missing[i] == 0) heap.emplace(0, 0, i);
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
    times[task].start = Nanoseconds(start);
    release(graph, rows, times, task,
            [&](std::uint32_t next) { heap.emplace(times[next].start.count(), times[next].start.count(), next); });
    if (own != nullptr) *own = times[task].end.count();
    if (held != nullptr) *held = times[task].end.count();
    ++done;
  }
  return done;
}

}  // namespace

Result<std::vector<TaskTimes>> run_flat(const TaskGraph& graph) {
  COHORT_CHECK(check_ranges(graph));
  CompressedRows rows = compress(graph);
  std::vector<TaskTimes> times(graph.tasks.size());
  const bool by_time = std::any_of(graph.resources.begin(), graph.resources.end(), [](const Resource& resource) {
    return resource.discipline == Discipline::kFirstCome;
  });
  const std::size_t done = by_time ? run_by_time(graph, rows, times) : run_in_any_order(graph, rows, times);
  if (done < graph.tasks.size()) COHORT_CHECK(explain_cycle(graph));
  return times;
}

}  // namespace cohort
