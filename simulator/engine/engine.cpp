#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cohort {
namespace {

/// Below this, a moment is now: far under a nanosecond, far above what doubles lose.
constexpr double kSameInstant = 1e-3;

Nanoseconds rounded(double instant) { return Nanoseconds(std::llround(instant)); }

}  // namespace

Engine::Engine(const TaskGraph& graph, const TaskOrder& order, const DeviceProfile& device, const GpuWork* gpu,
               std::span<const double> memory_use)
    : graph_(&graph),
      order_(&order),
      device_(&device),
      missing_(graph.tasks.size(), 0),
      ready_(graph.tasks.size(), 0),
      lanes_(graph.resources.size()),
      times_(graph.tasks.size()),
      memory_use_(memory_use),
      gpu_work_(gpu) {
  for (const Edge& edge : graph.edges) ++missing_[to_index(edge.to)];
  if (gpu != nullptr) prepare_gpu();
}

std::vector<TaskTimes> Engine::run() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) offer(ResourceId(i));
  for (;;) {
    // Tasks of no duration start and end at one moment, so that what one frees may start at once.
    while (start_due() || finish_due() || gpu_due()) {
    }
    if (running_.empty() && waiting_.empty() && !(gpu_ && gpu_->next_event())) break;
    set_rates();
    advance(next_event());
  }
  return std::move(times_);
}

/// Queues the head of a free resource for the moment it may start, once that is known.
void Engine::offer(ResourceId resource) {
  Lane& lane = lanes_[to_index(resource)];
  const std::vector<TaskId>& queue = order_->queues[to_index(resource)];
  if (lane.busy || lane.next == queue.size()) return;
  const TaskId task = queue[lane.next];
  if (missing_[to_index(task)] > 0) return;
  lane.busy = true;  // nothing else can come before the head
  waiting_.emplace(std::max(now_, ready_[to_index(task)]), task);
}

void Engine::start(TaskId id) {
  if (gpu_ && gpu_work_->tasks[to_index(id)]) {
    start_on_gpu(id);
    return;
  }
  const Task& task = graph_->task(id);
  if (task.cores > 1) lanes_[to_index(task.resource)].spinning = 0;
  times_[to_index(id)].start = rounded(now_);
  const Running run{id, static_cast<double>(task.duration.count()), 1};
  running_.insert(std::lower_bound(running_.begin(), running_.end(), id,
                                   [](const Running& other, TaskId task_id) { return other.task < task_id; }),
                  run);
  satisfy(id, Anchor::kStart);
}

void Engine::finish(TaskId id) {
  const Task& task = graph_->task(id);
  Lane& lane = lanes_[to_index(task.resource)];
  times_[to_index(id)].end = rounded(now_);
  if (task.cores > 1 && !(gpu_ && gpu_work_->tasks[to_index(id)])) {
    lane.spinning = task.cores - 1;
    lane.spin_end = now_ + static_cast<double>(device_->spin_time.count());
  }
  lane.busy = false;
  ++lane.next;
  satisfy(id, Anchor::kEnd);
  offer(task.resource);
}

void Engine::satisfy(TaskId id, Anchor anchor) {
  const std::size_t index = to_index(id);
  for (std::uint32_t i = order_->first_edge[index]; i < order_->first_edge[index + 1]; ++i) {
    const Edge& edge = graph_->edges[order_->edges[i]];
    if (edge.anchor != anchor) continue;
    Instant& ready = ready_[to_index(edge.to)];
    ready = std::max(ready, now_ + static_cast<double>(edge.delay.count()));
    if (edge.kind == EdgeKind::kLaunch && gpu_ && is_kernel(edge.to) && --launch_edges_[to_index(edge.to)] == 0) {
      queue_launch(edge.to);
    }
    if (--missing_[to_index(edge.to)] == 0) {
      const ResourceId resource = graph_->task(edge.to).resource;
      const Lane& lane = lanes_[to_index(resource)];
      const std::vector<TaskId>& queue = order_->queues[to_index(resource)];
      if (!lane.busy && lane.next < queue.size() && queue[lane.next] == edge.to) offer(resource);
    }
  }
}

bool Engine::start_due() {
  bool any = false;
  while (!waiting_.empty() && waiting_.top().first <= now_ + kSameInstant) {
    const TaskId task = waiting_.top().second;
    waiting_.pop();
    start(task);
    any = true;
  }
  return any;
}

bool Engine::finish_due() {
  std::vector<TaskId> done;
  for (const Running& run : running_) {
    if (run.remaining <= kSameInstant * run.rate) done.push_back(run.task);
  }
  const auto is_done = [&](const Running& run) { return run.remaining <= kSameInstant * run.rate; };
  running_.erase(std::remove_if(running_.begin(), running_.end(), is_done), running_.end());
  for (const TaskId task : done) finish(task);
  return !done.empty();
}

void Engine::set_rates() {
  std::int64_t asked = 0;
  for (const Running& run : running_) asked += graph_->task(run.task).cores;
  for (const Lane& lane : lanes_) {
    if (lane.spinning > 0 && lane.spin_end > now_ + kSameInstant) asked += lane.spinning;
  }
  const double share = asked > device_->cores ? static_cast<double>(device_->cores) / static_cast<double>(asked) : 1;
  for (Running& run : running_) {
    const int cores = graph_->task(run.task).cores;
    run.rate = cores == 0 ? 1 : share;
    if (cores > 1 && share < 1) run.rate /= device_->oversubscription_penalty;
  }
  if (!memory_use_.empty()) share_memory();
}

/// Tasks that together ask for more than the memory's bandwidth all lose the same part of their rates. Their cores wait
/// with them and are free for nobody else.
void Engine::share_memory() {
  double asked = 0;
  for (const Running& run : running_) asked += memory_use_[to_index(run.task)] * run.rate;
  if (asked <= 1) return;
  for (Running& run : running_) {
    if (memory_use_[to_index(run.task)] > 0) run.rate /= asked;
  }
}

Engine::Instant Engine::next_event() {
  Instant next = std::numeric_limits<Instant>::infinity();
  for (const Running& run : running_) next = std::min(next, now_ + run.remaining / run.rate);
  if (!waiting_.empty()) next = std::min(next, waiting_.top().first);
  if (gpu_) next = std::min(next, gpu_->next_event().value_or(next));
  for (const Lane& lane : lanes_) {
    if (lane.spinning > 0 && lane.spin_end > now_ + kSameInstant) next = std::min(next, lane.spin_end);
  }
  return next;
}

void Engine::advance(Instant to) {
  for (Running& run : running_) run.remaining -= (to - now_) * run.rate;
  if (gpu_) gpu_->advance(to);
  now_ = to;
}

}  // namespace cohort
