#include "bench/made_up_graphs.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/random.hpp"

namespace cohort {

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

ContendingKernels::ContendingKernels(std::size_t count, std::size_t streams, int scale)
    : streams_(streams), count_(count) {
  work_.profile = *published_gpu_profile("NVIDIA H100 80GB HBM3");
  for (int i = 0; i < 7; ++i) {
    SoloRun solo;
    solo.time = Nanoseconds(4000 + 1700 * i);
    solo.utilisation = {0.1, 0, 0.1, 0, 0.2, 0.05 + 0.05 * i};
    work_.kernels.push_back(demand_of({scale * (16 + 20 * i), 256, 32, Bytes{8192}, 1}, solo, work_.profile).value());
  }
}

TaskGraph ContendingKernels::graph() const {
  TaskGraph graph;
  Task task;
  task.label = graph.add_label("kernel");
  task.kind = TaskKind::kKernel;
  task.cores = 0;
  std::vector<ResourceId> streams;
  for (std::size_t i = 0; i < streams_; ++i) streams.push_back(graph.add_resource("stream", ResourceKind::kStream));
  for (std::size_t i = 0; i < count_; ++i) {
    task.resource = streams[i % streams_];
    task.duration = Nanoseconds(4000 + 1700 * static_cast<std::int64_t>(i % work_.kernels.size()));
    task.position = static_cast<std::int64_t>(i);
    graph.add_task(task);
  }
  return graph;
}

SimulationOptions ContendingKernels::options() const {
  SimulationOptions options;
  options.gpu = work_;
  for (std::size_t i = 0; i < count_; ++i)
    options.gpu->tasks.emplace_back(KernelTask{static_cast<std::uint32_t>(i % work_.kernels.size())});
  return options;
}

std::int64_t ContendingKernels::run_engine() const {
  GpuEngine engine(work_.profile);
  std::vector<std::size_t> next(streams_);
  const auto start = [&](std::size_t stream) {
    const std::size_t kernel = next[stream];
    next[stream] += streams_;
    if (kernel >= count_) return;
    if (!engine.start_kernel(work_.kernels[kernel % work_.kernels.size()], static_cast<std::uint32_t>(stream)))
      std::abort();
  };
  for (std::size_t i = 0; i < streams_; ++i) {
    next[i] = i;
    start(i);
  }
  double last = 0;
  while (const auto moment = engine.next_event()) {
    engine.advance(last = *moment);
    for (const GpuEvent& event : engine.take_events()) {
      if (event.kind == GpuEvent::Kind::kEnded) start(event.token);
    }
  }
  return static_cast<std::int64_t>(last);
}

}  // namespace cohort
