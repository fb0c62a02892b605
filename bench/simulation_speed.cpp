// How fast task graphs are simulated: from flat lists to the makespan, beside a floor.
//
//     build/release/bin/simulation_speed [--tasks N]
//
// Prints a line for each graph: tasks, edges, the median of several runs in tasks a second of processor time for
//   pass     the longest path in an order made beforehand, over compressed rows: the floor of flat
//   heap     the same in order of time, by a heap of ready tasks: the floor of locked
//   flat     run_flat(): lists checked and compressed, then the schedule
//   locked   the same with a first-come resource, which needs the heap
//   shared   simulate() of kernels that share a device's multiprocessors
//   whole    simulate(): with slack, critical path and bounds
// then, for kernels that contend for an H100 on 1 to 16 streams, in kernels a second,
//   floor    GpuEngine alone, fed kernel by kernel: no graph, no event loop, no bounds
//   whole    simulate() of the same kernels

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/made_up_graphs.hpp"
#include "simulator/engine/flat_run.hpp"
#include "simulator/engine/simulate.hpp"

namespace {

using namespace cohort;

/// The least that a simulation can do, over rows that are there already.
class Floor {
 public:
  explicit Floor(const TaskGraph& graph) : first_(graph.tasks.size() + 1, 0), incoming_(graph.tasks.size(), 0) {
    for (const Edge& edge : graph.edges) ++first_[to_index(edge.from) + 1];
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    to_.resize(graph.edges.size());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (const Edge& edge : graph.edges) {
      to_[next[to_index(edge.from)]++] = static_cast<std::uint32_t>(edge.to);
      ++incoming_[to_index(edge.to)];
    }
    for (const Task& task : graph.tasks) duration_.push_back(task.duration.count());
    if (const Result<TaskOrder> order = order_tasks(graph)) {
      for (const TaskId task : order->topological) order_.push_back(static_cast<std::uint32_t>(task));
    }
  }

  /// Each task once, in topological order.
  [[nodiscard]] std::int64_t pass() const {
    std::vector<std::int64_t> ready(duration_.size(), 0);
    std::int64_t last = order_.size() == duration_.size() ? 0 : -1;
    for (const std::uint32_t task : order_) {
      const std::int64_t end = ready[task] + duration_[task];
      last = std::max(last, end);
      for (std::uint32_t i = first_[task]; i < first_[task + 1]; ++i) ready[to_[i]] = std::max(ready[to_[i]], end);
    }
    return last;
  }

  /// Each task once, in order of time.
  [[nodiscard]] std::int64_t heap() const {
    using Ready = std::pair<std::int64_t, std::uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> heap;
    std::vector<std::uint32_t> missing = incoming_;
    std::vector<std::int64_t> ready(missing.size(), 0);
    for (std::uint32_t i = 0; i < missing.size(); ++i) {
      if (missing[i] == 0) heap.emplace(0, i);
    }
    std::int64_t last = 0;
    while (!heap.empty()) {
      const auto [start, task] = heap.top();
      heap.pop();
      const std::int64_t end = start + duration_[task];
      last = std::max(last, end);
      for (std::uint32_t i = first_[task]; i < first_[task + 1]; ++i) {
        ready[to_[i]] = std::max(ready[to_[i]], end);
        if (--missing[to_[i]] == 0) heap.emplace(ready[to_[i]], to_[i]);
      }
    }
    return last;
  }

 private:
  std::vector<std::uint32_t> first_, to_, incoming_, order_;
  std::vector<std::int64_t> duration_;
};

/// Median of several runs, in millions of tasks a second of processor time: what else runs on the machine takes none.
double rate(std::size_t tasks, const std::function<std::int64_t()>& run, std::size_t runs = 15) {
  std::vector<double> rates;
  for (std::size_t i = 0; i < runs; ++i) {
    const std::clock_t start = std::clock();
    const std::int64_t result = run();
    const double time = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (result < 0) std::abort();
    rates.push_back(static_cast<double>(tasks) / time / 1e6);
  }
  std::sort(rates.begin(), rates.end());
  return rates[runs / 2];
}

std::int64_t last_end(const Result<std::vector<TaskTimes>>& times) {
  std::int64_t last = times ? 0 : -1;
  if (times) {
    for (const TaskTimes& each : *times) last = std::max(last, each.end.count());
  }
  return last;
}

void measure(std::size_t tasks) {
  const TaskGraph graph = launches(tasks);
  TaskGraph locked = graph;
  const ResourceId lock = locked.add_resource("lock", ResourceKind::kDriverLock, Discipline::kFirstCome);
  for (Task& task : locked.tasks) {
    if (task.kind == TaskKind::kLaunch) task.holds = lock;
  }
  const Floor floor(graph);
  const std::size_t count = graph.tasks.size();
  const SimulationOptions options;
  SimulationOptions sharing;
  sharing.share_multiprocessors = true;
  fmt::print(
      "{:>9} tasks {:>9} edges   pass {:6.1f}   heap {:6.1f}   flat {:6.1f}   locked {:6.1f}   shared {:6.1f}   whole "
      "{:6.1f}   "
      "million tasks/s of processor time\n",
      count, graph.edges.size(), rate(count, [&] { return floor.pass(); }), rate(count, [&] { return floor.heap(); }),
      rate(count, [&] { return last_end(run_flat(graph)); }), rate(count, [&] { return last_end(run_flat(locked)); }),
      rate(count, [&] { return simulate(graph, sharing)->makespan.count(); }),
      rate(count, [&] { return simulate(graph, options)->makespan.count(); }));
}

void measure_contention(std::size_t streams, int scale) {
  const std::size_t count = 20'000 / static_cast<std::size_t>(scale);
  constexpr std::size_t kRuns = 5;
  const ContendingKernels kernels(count, streams, scale);
  const TaskGraph graph = kernels.graph();
  const SimulationOptions options = kernels.options();
  const auto whole = [&]() -> std::int64_t {
    const Result<Schedule> schedule = simulate(graph, options);
    return schedule ? schedule->makespan.count() : -1;
  };
  fmt::print("{:>9} kernels of {} to {} blocks on {:>2} streams   floor {:6.2f}   whole {:6.2f}   million kernels/s\n",
             count, 16 * scale, 136 * scale, streams,
             rate(
                 count, [&] { return kernels.run_engine(); }, kRuns),
             rate(count, whole, kRuns));
}

constexpr const char* kUsage =
    "usage: simulation_speed [--tasks N]\n\n"
    "How many tasks a second of processor time are simulated, beside floors: graphs of 10,000, 100,000 and 1,000,000\n"
    "tasks, or of N tasks only, where nothing is shared; then kernels that contend for a GPU on 1 to 16 streams.\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  std::vector<std::size_t> sizes = {10'000, 100'000, 1'000'000};
  if (argc == 3 && std::string_view(argv[1]) == "--tasks") {
    sizes = {std::strtoull(argv[2], nullptr, 10)};
  } else if (argc != 1) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  if (sizes.front() < 2) {
    fmt::print(stderr, "--tasks: a whole number from 2, not {}\n", argv[2]);
    return 2;
  }
  for (const std::size_t tasks : sizes) measure(tasks);
  for (const int scale : {1, 20}) {
    for (std::size_t streams = 1; streams <= 16; streams *= 2) measure_contention(streams, scale);
  }
  return 0;
}
