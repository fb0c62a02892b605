#include "tests/simulator/random_graph.hpp"

#include <optional>
#include <vector>

#include "simulator/transform/select.hpp"

namespace cohort {

TaskGraph random_graph(Random& random) {
  TaskGraph graph;
  std::vector<ResourceId> threads;
  std::vector<ResourceId> streams;
  for (int i = 0; i < 2; ++i) threads.push_back(graph.add_resource("thread", ResourceKind::kHostThread));
  for (int i = 0; i < 3; ++i) {
    streams.push_back(graph.add_resource("stream", ResourceKind::kStream, Discipline::kOverlapping));
  }
  const LabelId launch = graph.add_label("launch");
  const LabelId kernel = graph.add_label("kernel");
  std::vector<std::optional<TaskId>> last(streams.size());
  std::vector<TaskId> kernels;
  const auto some = [&](std::uint64_t most) { return Nanoseconds(static_cast<std::int64_t>(random.below(most))); };
  constexpr std::uint32_t kCalls = 40;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    Task task;
    task.label = launch;
    task.cores = 0;
    task.kind = TaskKind::kLaunch;
    task.resource = threads[random.below(2)];
    task.duration = some(6);
    task.position = i;
    task.step = i;
    if (!kernels.empty() && random.below(8) == 0) {
      task.kind = TaskKind::kWait;
      const TaskId wait = graph.add_task(task);
      graph.add_edge(kernels[random.below(kernels.size())], wait, EdgeKind::kSynchronisation, some(3));
      continue;
    }
    const TaskId call = graph.add_task(task);
    for (std::uint64_t k = 0, count = 1 + random.below(8) / 6; k < count; ++k) {  // a graph launches several
      const std::size_t stream = random.below(streams.size());
      task.label = kernel;
      task.kind = TaskKind::kKernel;
      task.resource = streams[stream];
      task.duration = some(20);
      task.waves = random.uniform(0.1F, 2);
      task.step = i + kCalls * static_cast<std::uint32_t>(k + 1);
      const TaskId op = graph.add_task(task);
      // Some launches were not recorded.
      if (random.below(8) > 0) graph.add_edge(call, op, EdgeKind::kLaunch, some(5), Anchor::kStart);
      if (last[stream]) graph.add_edge(*last[stream], op, EdgeKind::kStreamOrder, Nanoseconds(1));
      if (!kernels.empty() && random.below(4) == 0) {
        graph.add_edge(kernels[random.below(kernels.size())], op, EdgeKind::kEvent, some(3));
      }
      last[stream] = op;
      kernels.push_back(op);
    }
  }
  return graph;
}

Selection some_of(const TaskGraph& graph, Random& random, std::uint64_t one_in) {
  return select(graph, [&](const Task&) { return random.below(one_in) == 0; });
}

}  // namespace cohort
