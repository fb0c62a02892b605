#include "simulator/engine/flat_run.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace cohort {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

/// Resizes an empty vector whose memory, where it is much, comes in large pages if the system has them: half of a large
/// graph's time would go into touching small ones for the first time.
template <class Value>
void resize_large(std::vector<Value>& values, std::size_t size) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  values.reserve(size);
#ifdef MADV_HUGEPAGE
  if (const std::size_t bytes = size * sizeof(Value); bytes >= kLarge) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto* const memory = reinterpret_cast<unsigned char*>(values.data());
    const std::size_t skipped = page - reinterpret_cast<std::uintptr_t>(memory) % page;
    madvise(memory + skipped, (bytes - skipped) / page * page, MADV_HUGEPAGE);  // a wish: nothing depends on it
  }
#endif
  values.resize(size);
}

/// Outgoing edges of all tasks in one list, and what the loop needs of a task in one place. Compact, because a large
/// graph's time goes into memory: what an edge takes here is a quarter of an Edge.
struct CompressedRows {
  /// Delay and anchor in one word; delays of more than half a second are kept apart.
  struct Out {
    std::uint32_t to = 0;
    std::int32_t delay_and_anchor = 0;
  };
  struct Node {
    std::int64_t start = 0;      ///< the latest that edges have asked for so far
    std::uint32_t first = 0;     ///< its edges in `out`, up to the next node's
    std::uint32_t missing = 0;   ///< edges into it, and places in its queue, that have not said yet
    std::uint32_t next = kNone;  ///< behind it in its queue
  };
  std::vector<Node> nodes;  ///< by task; one more at the end
  std::vector<Out> out;
  std::vector<std::pair<std::uint32_t, std::int64_t>> long_delays;  ///< by position in `out`, ascending
  std::vector<TaskTimes> times;  ///< by task; `end` is the duration until the task has started
  double total_ns = 0;           ///< all durations and delays: more than a path can take
};

constexpr std::int32_t kLong = std::numeric_limits<std::int32_t>::max() / 2;

std::int64_t delay_of(const CompressedRows& rows, std::uint32_t edge) {
  const std::int32_t delay = rows.out[edge].delay_and_anchor >> 1;
  if (delay != kLong) return delay;
  return std::lower_bound(rows.long_delays.begin(), rows.long_delays.end(),
                          std::pair(edge, std::numeric_limits<std::int64_t>::min()))
      ->second;
}

/// One look at each task: whether it is in range, its duration, and its place in its queue.
/// Returns false where something is out of range.
bool read_tasks(const TaskGraph& graph, CompressedRows& rows, bool& queues_sorted) {
  std::vector<std::uint32_t> last(graph.resources.size(), kNone);
  bool in_range = true;
  for (std::uint32_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    const std::size_t resource = to_index(task.resource);
    in_range = in_range && to_index(task.label) < graph.labels.size() && resource < graph.resources.size() &&
               (!task.holds || to_index(*task.holds) < graph.resources.size()) && task.cores >= 0 &&
               task.duration >= Nanoseconds(0);
    if (!in_range) return false;
    rows.times[i].end = task.duration;
    rows.total_ns += static_cast<double>(task.duration.count());
    if (graph.resources[resource].discipline != Discipline::kInOrder) continue;
    if (last[resource] != kNone) {
      queues_sorted = queues_sorted && graph.tasks[last[resource]].position <= task.position;
      rows.nodes[last[resource]].next = i;
      ++rows.nodes[i].missing;
    }
    last[resource] = i;
  }
  return true;
}

/// Queues whose positions do not ascend with ids.
void sort_queues(const TaskGraph& graph, CompressedRows& rows) {
  for (CompressedRows::Node& node : rows.nodes) {
    node.next = kNone;
    node.missing = 0;
  }
  for (const std::vector<TaskId>& queue : queues_of(graph)) {
    for (std::size_t i = 1; i < queue.size(); ++i) {
      rows.nodes[to_index(queue[i - 1])].next = static_cast<std::uint32_t>(queue[i]);
      ++rows.nodes[to_index(queue[i])].missing;
    }
  }
}

/// Counts each node's edges into its `first`. Returns false where an edge is out of range.
bool count_edges(const TaskGraph& graph, CompressedRows& rows) {
  for (const Edge& edge : graph.edges) {
    const bool in_range = std::max(to_index(edge.from), to_index(edge.to)) < graph.tasks.size() &&
                          (edge.delay >= Nanoseconds(0) || edge.anchor == Anchor::kEnd);
    if (!in_range) return false;
    ++rows.nodes[to_index(edge.from)].first;
    ++rows.nodes[to_index(edge.to)].missing;
    rows.total_ns += static_cast<double>(std::max(edge.delay, Nanoseconds(0)).count());
  }
  return true;
}

void place_edges(const TaskGraph& graph, CompressedRows& rows) {
  // A node's `first` counts its edges, then stands behind them, and ends in front of them.
  std::uint32_t before = 0;
  for (CompressedRows::Node& node : rows.nodes) node.first = before += node.first;
  resize_large(rows.out, graph.edges.size());
  for (const Edge& edge : graph.edges) {
    const std::uint32_t place = --rows.nodes[to_index(edge.from)].first;
    const std::int64_t delay = edge.delay.count();
    const bool is_long = delay >= kLong || delay <= -kLong;
    if (is_long) rows.long_delays.emplace_back(place, delay);
    const auto word = static_cast<std::int32_t>((is_long ? kLong : delay) * 2 + (edge.anchor == Anchor::kEnd ? 1 : 0));
    rows.out[place] = {static_cast<std::uint32_t>(edge.to), word};
  }
  std::sort(rows.long_delays.begin(), rows.long_delays.end());
}

/// Errors: as check_ranges().
Result<CompressedRows> compress(const TaskGraph& graph) {
  CompressedRows rows;
  resize_large(rows.nodes, graph.tasks.size() + 1);
  resize_large(rows.times, graph.tasks.size());
  bool queues_sorted = true;
  bool in_range = read_tasks(graph, rows, queues_sorted);
  if (in_range && !queues_sorted) sort_queues(graph, rows);
  in_range = in_range && count_edges(graph, rows);
  if (!in_range || rows.total_ns > static_cast<double>(kLongestGraph.count())) {
    COHORT_CHECK(check_ranges(graph));  // says what
  }
  place_edges(graph, rows);
  return rows;
}

/// Lets go what waits for a task whose start is known, and notes its times; `offer` gets what waits for nothing more.
/// Returns its end.
template <class Offer>
std::int64_t release(CompressedRows& rows, std::uint32_t task, const Offer& offer) {
  const CompressedRows::Node& node = rows.nodes[task];
  const std::int64_t start = node.start;
  const std::int64_t end = start + rows.times[task].end.count();
  rows.times[task].start = Nanoseconds(start);
  rows.times[task].end = Nanoseconds(end);
  const auto let = [&](std::uint32_t to, std::int64_t from) {
    CompressedRows::Node& next = rows.nodes[to];
    next.start = std::max(next.start, from);
    if (--next.missing == 0) offer(to, next.start);
  };
  const std::uint32_t last = rows.nodes[task + 1].first;
  for (std::uint32_t i = node.first; i < last; ++i) {
    const bool from_end = (rows.out[i].delay_and_anchor & 1) != 0;
    let(rows.out[i].to, std::max(start, (from_end ? end : start) + delay_of(rows, i)));
  }
  if (node.next != kNone) let(node.next, end);
  return end;
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
    const std::int64_t end =
        release(rows, task, [&](std::uint32_t next, std::int64_t ready) { heap.emplace(ready, ready, next); });
    if (own != nullptr) *own = end;
    if (held != nullptr) *held = end;
    ++done;
  }
  return done;
}

}  // namespace

Result<std::vector<TaskTimes>> run_flat(const TaskGraph& graph) {
  COHORT_TRY(CompressedRows rows, compress(graph));
  const bool by_time = std::any_of(graph.resources.begin(), graph.resources.end(), [](const Resource& resource) {
    return resource.discipline == Discipline::kFirstCome;
  });
  const std::size_t done = by_time ? run_by_time(graph, rows) : run_in_any_order(graph, rows);
  if (done < graph.tasks.size()) COHORT_CHECK(explain_cycle(graph));
  return std::move(rows.times);
}

}  // namespace cohort
