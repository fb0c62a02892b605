// The part of Engine that feeds a GPU: hardware connections, and what the GpuEngine reports.

#include <algorithm>
#include <cassert>
#include <cmath>

#include "simulator/engine/engine.hpp"

namespace cohort {

void Engine::prepare_gpu() {
  gpu_.emplace(gpu_work_->profile);
  connections_.resize(static_cast<std::size_t>(gpu_work_->profile.connections));
  launch_.assign(graph_->tasks.size(), Launch::kNot);
  launch_edges_.assign(graph_->tasks.size(), 0);
  for (const Edge& edge : graph_->edges) {
    if (edge.kind == EdgeKind::kLaunch) ++launch_edges_[to_index(edge.to)];
  }
}

bool Engine::is_kernel(TaskId task) const {
  const auto& work = gpu_work_->tasks[to_index(task)];
  return work && std::holds_alternative<KernelTask>(*work);
}

/// The launch has reached the device: from now on the kernel has its place in a connection.
void Engine::queue_launch(TaskId task) {
  const std::size_t stream = to_index(graph_->task(task).resource);
  launch_[to_index(task)] = Launch::kQueued;
  connections_[stream % connections_.size()].launched.push_back(task);
}

/// All that the task itself waits for is there.
void Engine::start_on_gpu(TaskId task) {
  if (!is_kernel(task)) {
    hand_over(task);
    return;
  }
  Launch& launch = launch_[to_index(task)];
  if (launch == Launch::kNot) queue_launch(task);
  launch = Launch::kParked;
  std::deque<TaskId>& launched = connections_[to_index(graph_->task(task).resource) % connections_.size()].launched;
  while (!launched.empty() && launch_[to_index(launched.front())] == Launch::kParked) {
    const TaskId next = launched.front();
    launched.pop_front();
    launch_[to_index(next)] = Launch::kGone;
    hand_over(next);
  }
}

void Engine::hand_over(TaskId id) {
  const auto& work = *gpu_work_->tasks[to_index(id)];
  const auto token = static_cast<std::uint32_t>(id);
  if (const auto* kernel = std::get_if<KernelTask>(&work)) {
    const Result<void> started = gpu_->start_kernel(gpu_work_->kernels[kernel->kernel], token);
    assert(started.has_value());  // check_gpu_work() has seen to it
    static_cast<void>(started);
  } else {
    gpu_->start_copy(gpu_work_->copies[std::get<CopyTask>(work).copy], token);
  }
}

/// Takes over what began and ended on the GPU.
bool Engine::gpu_due() {
  if (!gpu_) return false;
  gpu_->next_event();  // places what was handed over
  const std::span<const GpuEvent> reported = gpu_->take_events();
  const std::vector<GpuEvent> events(reported.begin(), reported.end());
  for (const GpuEvent& event : events) {
    const auto id = TaskId(event.token);
    if (event.kind == GpuEvent::Kind::kStarted) {
      times_[to_index(id)].start = Nanoseconds(std::llround(event.time_ns));
      satisfy(id, Anchor::kStart);
    } else {
      finish(id);
    }
  }
  return !events.empty();
}

}  // namespace cohort
