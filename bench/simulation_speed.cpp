// How fast task graphs are simulated: from flat lists to the makespan, beside a floor.
//
//     build/release/bin/simulation_speed [--tasks N]
//
// Prints a line for each graph: tasks, edges, the median of several runs in tasks a second of processor time for
//   floor    a heap over compressed rows made beforehand: no lists, no checks, no resources
//   flat     run_flat(): lists checked and compressed, then the schedule
//   locked   the same with a first-come resource, which needs the heap
//   shared   simulate() of kernels that share a device's multiprocessors
//   whole    simulate(): with slack, critical path and bounds

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

#include "base/random.hpp"
#include "simulator/engine/flat_run.hpp"
#include "simulator/engine/simulate.hpp"

namespace {

using namespace cohort;

/// A host thread that launches kernels on eight streams, with an event between streams now and then:
/// about two edges a task, as traces have them.
TaskGraph launches(std::size_t tasks) {
  constexpr std::size_t kStreams = 8;
  TaskGraph graph;
  Random random(1);
  const LabelId launch = graph.add_label("launch");
  const LabelId kernel = graph.add_label("kernel");
  const ResourceId thread = graph.add_resource("thread", ResourceKind::kHostThread);
  std::vector<ResourceId> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    streams.push_back(graph.add_resource("stream", ResourceKind::kStream, Discipline::kOverlapping));
  }
  std::vector<std::vector<TaskId>> ops(kStreams);
  graph.tasks.reserve(tasks);
  graph.edges.reserve(2 * tasks);
  while (graph.tasks.size() + 1 < tasks) {
    Task task;
    task.label = launch;
    task.kind = TaskKind::kLaunch;
    task.resource = thread;
    task.cores = 0;
    task.duration = Nanoseconds(4000);
    task.position = static_cast<std::int64_t>(graph.tasks.size());
    const TaskId call = graph.add_task(task);
    const std::size_t stream = random.below(kStreams);
    task.label = kernel;
    task.kind = TaskKind::kKernel;
    task.resource = streams[stream];
    task.duration = Nanoseconds(5000 + static_cast<std::int64_t>(random.below(50'000)));
    task.waves = 0.25F;
    const TaskId op = graph.add_task(task);
    graph.add_edge(call, op, EdgeKind::kLaunch, Nanoseconds(7000), Anchor::kStart);
    if (!ops[stream].empty()) graph.add_edge(ops[stream].back(), op, EdgeKind::kStreamOrder, Nanoseconds(1000));
    for (int i = 0; i < 2; ++i) {
      const std::vector<TaskId>& other = ops[random.below(kStreams)];
      if (!other.empty()) graph.add_edge(other.back(), op, EdgeKind::kEvent, Nanoseconds(1500));
    }
    ops[stream].push_back(op);
  }
  return graph;
}

/// The least that a simulation can do: a heap of ready tasks over rows that are there already.
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
  }

  [[nodiscard]] std::int64_t makespan() const {
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
  std::vector<std::uint32_t> first_, to_, incoming_;
  std::vector<std::int64_t> duration_;
};

/// Median of several runs, in millions of tasks a second of processor time: what else runs on the machine takes none.
double rate(std::size_t tasks, const std::function<std::int64_t()>& run) {
  constexpr int kRuns = 15;
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) {
    const std::clock_t start = std::clock();
    const std::int64_t result = run();
    const double time = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (result < 0) std::abort();
    rates.push_back(static_cast<double>(tasks) / time / 1e6);
  }
  std::sort(rates.begin(), rates.end());
  return rates[kRuns / 2];
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
      "{:>9} tasks {:>9} edges   floor {:6.1f}   flat {:6.1f}   locked {:6.1f}   shared {:6.1f}   whole {:6.1f}   "
      "million tasks/s of processor time\n",
      count, graph.edges.size(), rate(count, [&] { return floor.makespan(); }),
      rate(count, [&] { return last_end(run_flat(graph)); }), rate(count, [&] { return last_end(run_flat(locked)); }),
      rate(count, [&] { return simulate(graph, sharing)->makespan.count(); }),
      rate(count, [&] { return simulate(graph, options)->makespan.count(); }));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--tasks") {
    measure(std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  if (argc != 1) {
    fmt::print(stderr, "usage: simulation_speed [--tasks N]\n");
    return 2;
  }
  for (const std::size_t tasks : {std::size_t{10'000}, std::size_t{100'000}, std::size_t{1'000'000}}) measure(tasks);
  return 0;
}
