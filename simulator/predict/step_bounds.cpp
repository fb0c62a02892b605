#include "simulator/predict/step_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cohort {
namespace {

/// Length of the longest chain of steps within one iteration, every core free.
Nanoseconds longest_chain(const TaskGraph& graph, int iteration) {
  const auto counts = [&](const Task& task) { return task.iteration == iteration && task.kind != TaskKind::kInput; };
  std::vector<Nanoseconds> start(graph.tasks.size());
  std::vector<std::vector<const Edge*>> outgoing(graph.tasks.size());
  for (const Edge& edge : graph.edges) {
    if (counts(graph.task(edge.from)) && counts(graph.task(edge.to))) outgoing[to_index(edge.from)].push_back(&edge);
  }
  std::vector<Nanoseconds> free(graph.resources.size());
  Nanoseconds longest{};
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {  // within an iteration, ids ascend along edges and queues
    if (!counts(graph.tasks[i])) continue;
    Nanoseconds& resource_free = free[to_index(graph.tasks[i].resource)];
    const Nanoseconds end = std::max(start[i], resource_free) + graph.tasks[i].duration;
    resource_free = end;
    longest = std::max(longest, end);
    for (const Edge* edge : outgoing[i]) {
      const Nanoseconds from = edge->anchor == Anchor::kEnd ? end : end - graph.tasks[i].duration;
      start[to_index(edge->to)] = std::max(start[to_index(edge->to)], from + edge->delay);
    }
  }
  return longest;
}

/// Sum over tasks of the longest delay into each, of launching once.
Nanoseconds all_delays(const TaskGraph& graph, int iteration) {
  std::vector<Nanoseconds> longest(graph.tasks.size());
  Nanoseconds launching{};
  for (const Edge& edge : graph.edges) {
    if (graph.task(edge.to).iteration != iteration) continue;
    Nanoseconds& known = edge.kind == EdgeKind::kLaunch ? launching : longest[to_index(edge.to)];
    known = std::max(known, edge.delay);
  }
  Nanoseconds sum = launching;
  for (const Nanoseconds each : longest) sum += each;
  return sum;
}

/// How cores are asked for while a step runs.
struct Asking {
  bool for_too_many = false;  ///< more can be asked for than there are
  double spinning = 0;        ///< helpers that ask beside the tasks of another stream
};

Asking asking(const TaskGraph& graph, int iteration, const DeviceProfile& device, int cores) {
  std::vector<int> most(graph.resources.size());
  for (const Task& task : graph.tasks) {
    if (task.iteration == iteration)
      most[to_index(task.resource)] = std::max(most[to_index(task.resource)], task.cores);
  }
  int asked = 0;
  int helpers = 0;
  int most_helpers = 0;
  for (std::size_t r = 0; r < most.size(); ++r) {
    // The host's own thread works before all streams do, or in their place.
    if (graph.resources[r].kind != ResourceKind::kHostThread) asked += most[r];
    helpers += std::max(0, most[r] - 1);
    most_helpers = std::max(most_helpers, most[r] - 1);
  }
  Asking result;
  result.for_too_many = asked > cores;
  if (device.spin_time > Nanoseconds(0)) result.spinning = helpers - most_helpers;
  return result;
}

}  // namespace

int host_cores(const PredictionCase& prediction_case) {
  const int cores = prediction_case.device.cores;
  if (prediction_case.gpu == nullptr) return cores;
  return std::max(cores, prediction_case.plan->input.decode_workers + prediction_case.program->launch_threads);
}

StepBounds step_bounds(const PredictionCase& prediction_case, const ProgramGraph& program_graph, Nanoseconds busiest) {
  const TaskGraph& graph = program_graph.graph;
  const int iteration = program_graph.first_steady;
  const int cores = host_cores(prediction_case);
  const Asking asks = asking(graph, iteration, prediction_case.device, cores);
  const double penalty = asks.for_too_many ? prediction_case.device.oversubscription_penalty : 1;
  const double stretch = asks.for_too_many ? (cores + asks.spinning) / cores : 1;
  std::int64_t core_time = 0;
  Nanoseconds input{};
  double in_turn = 0;
  double memory_time = 0;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.iteration != iteration) continue;
    if (!program_graph.memory_use.empty())
      memory_time += static_cast<double>(task.duration.count()) * program_graph.memory_use[i];
    in_turn += static_cast<double>(task.duration.count()) * (task.cores > 1 ? penalty : 1);
    core_time += task.duration.count() * task.cores;
    if (task.kind == TaskKind::kInput) input += task.duration;
  }
  StepBounds bounds;
  bounds.lower =
      std::max({Nanoseconds(core_time / cores), Nanoseconds(static_cast<std::int64_t>(memory_time)), busiest,
                input / std::max(1, prediction_case.plan->input.decode_workers), longest_chain(graph, iteration)});
  bounds.upper = Nanoseconds(static_cast<std::int64_t>(std::ceil(in_turn * stretch))) + all_delays(graph, iteration);
  return bounds;
}

}  // namespace cohort
