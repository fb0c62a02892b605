#include "simulator/engine/event_loop.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "simulator/engine/shared_device.hpp"

namespace cohort {
namespace {

class EventLoop {
 public:
  EventLoop(const TaskGraph& graph, const TaskOrder& order, const SimulationOptions& options)
      : graph_(graph),
        order_(order),
        gpu_work_(options.gpu ? &*options.gpu : nullptr),
        missing_(graph.tasks.size(), 0),
        ready_(graph.tasks.size(), 0),
        next_(graph.tasks.size()),
        free_(graph.resources.size(), 0),
        blocked_(graph.resources.size()),
        times_(graph.tasks.size()) {
    for (const Edge& edge : graph.edges) ++missing_[to_index(edge.to)];
    for (const std::vector<TaskId>& queue : order.queues) {
      for (std::size_t i = 1; i < queue.size(); ++i) {
        next_[to_index(queue[i - 1])] = queue[i];
        ++missing_[to_index(queue[i])];
      }
    }
    devices_.push_back(share_cores(graph, options.device, options.memory_use));
    if (options.gpu || options.share_multiprocessors) add_gpus();
  }

  std::vector<TaskTimes> run() {
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      if (missing_[i] == 0) offer(TaskId(i));
    }
    for (;;) {
      // Ends come first: what they free may start at the same moment. What was started is placed together.
      while (take_moments() || finish_due() || start_due() || place()) {
      }
      Instant next = next_on_devices_;
      if (!ends_.empty()) next = std::min(next, ends_.top().first);
      if (!waiting_.empty()) next = std::min(next, std::get<0>(waiting_.top()));
      if (next == kNever) {
        if (done_ < graph_.tasks.size() && let_pass()) continue;
        break;
      }
      now_ = std::max(now_, next);
      for (const auto& device : devices_) device->advance(now_);
    }
    assert(done_ == graph_.tasks.size());  // order_tasks() has found no cycle
    return std::move(times_);
  }

 private:
  static constexpr Instant kNever = std::numeric_limits<Instant>::infinity();

  void add_gpus() {
    std::map<std::int32_t, std::size_t> places;
    for (const Resource& resource : graph_.resources) {
      const auto [place, is_new] = places.try_emplace(resource.device, devices_.size());
      if (is_new) {
        devices_.push_back(gpu_work_ != nullptr ? share_gpu(graph_, *gpu_work_, resource.device)
                                                : share_multiprocessors(graph_));
      }
      gpu_of_.push_back(place->second);
    }
  }

  /// Null where the task just takes its duration.
  SharedDevice* device_of(TaskId id) {
    const Task& task = graph_.task(id);
    const bool is_kernel = task.kind == TaskKind::kKernel && task.duration > Nanoseconds(0);
    const bool named = gpu_work_ != nullptr && gpu_work_->tasks[to_index(id)];
    if (!gpu_of_.empty() && (named || is_kernel)) return devices_[gpu_of_[to_index(task.resource)]].get();
    return task.cores > 0 ? devices_.front().get() : nullptr;
  }

  void offer(TaskId task) {
    const Instant ready = std::max(now_, ready_[to_index(task)]);
    waiting_.emplace(ready, ready, task);
  }

  void satisfy(TaskId task, Instant allowed) {
    Instant& ready = ready_[to_index(task)];
    ready = std::max(ready, allowed);
    if (--missing_[to_index(task)] == 0) offer(task);
  }

  void satisfy(const Edge& edge, Instant allowed) {
    if (edge.kind == EdgeKind::kLaunch && gpu_work_ != nullptr && gpu_work_->tasks[to_index(edge.to)]) {
      device_of(edge.to)->launched(edge.to);
    }
    satisfy(edge.to, allowed);
  }

  /// The first-come resources that a task needs.
  template <class Function>
  void each_taken(const Task& task, const Function& function) {
    for (const std::optional<ResourceId> resource : {std::optional(task.resource), task.holds}) {
      if (resource && graph_.resources[to_index(*resource)].discipline == Discipline::kFirstCome) {
        function(to_index(*resource));
      }
    }
  }

  /// Starts one task, or puts it back until what it needs is free.
  bool start_due() {
    if (waiting_.empty() || std::get<0>(waiting_.top()) > now_ + kSameInstant) return false;
    const auto [time, since, id] = waiting_.top();
    waiting_.pop();
    const Task& task = graph_.task(id);
    std::optional<std::size_t> last;
    each_taken(task, [&](std::size_t resource) {
      if (free_[resource] > now_ + kSameInstant && (!last || free_[resource] > free_[*last])) last = resource;
    });
    if (last && free_[*last] == kNever) {
      blocked_[*last].emplace_back(since, id);
    } else if (last) {
      waiting_.emplace(free_[*last], since, id);
    } else {
      start(id, task);
    }
    return true;
  }

  void start(TaskId id, const Task& task) {
    SharedDevice* const device = device_of(id);
    const Instant end = device != nullptr ? kNever : now_ + static_cast<Instant>(task.duration.count());
    each_taken(task, [&](std::size_t resource) { free_[resource] = end; });
    if (device != nullptr) {
      device->start(id);
      return;
    }
    begin(id, now_);
    ends_.emplace(end, id);
  }

  void begin(TaskId id, Instant time) {
    times_[to_index(id)].start = Nanoseconds(std::llround(time));
    const Task& task = graph_.task(id);
    each_edge(id, [&](const Edge& edge) {
      if (const auto delay = after_start(task, edge)) satisfy(edge, time + *delay);
    });
  }

  void end(TaskId id, Instant time) {
    ++done_;
    times_[to_index(id)].end = Nanoseconds(std::llround(time));
    const Task& task = graph_.task(id);
    each_taken(task, [&](std::size_t resource) {
      if (free_[resource] != kNever) return;
      free_[resource] = time;
      for (const auto& [since, waiting] : blocked_[resource]) waiting_.emplace(time, since, waiting);
      blocked_[resource].clear();
    });
    each_edge(id, [&](const Edge& edge) {
      if (!after_start(task, edge)) satisfy(edge, time + static_cast<Instant>(edge.delay.count()));
    });
    if (next_[to_index(id)]) satisfy(*next_[to_index(id)], time);
  }

  static std::optional<Instant> after_start(const Task& task, const Edge& edge) {
    if (edge.anchor == Anchor::kStart) return static_cast<Instant>(edge.delay.count());
    if (edge.delay >= Nanoseconds(0)) return std::nullopt;
    return static_cast<Instant>(std::max(Nanoseconds(0), task.duration + edge.delay).count());
  }

  bool take_moments() {
    moments_.clear();
    for (const auto& device : devices_) device->take_moments(moments_);
    for (const TaskMoment& moment : moments_) {
      moment.ended ? end(moment.task, moment.time) : begin(moment.task, moment.time);
    }
    return !moments_.empty();
  }

  bool finish_due() {
    bool any = false;
    for (; !ends_.empty() && ends_.top().first <= now_ + kSameInstant; any = true) {
      const TaskId id = ends_.top().second;
      ends_.pop();
      end(id, now_);
    }
    return any;
  }

  bool place() {
    next_on_devices_ = kNever;
    for (const auto& device : devices_) {
      if (const auto event = device->next_event()) next_on_devices_ = std::min(next_on_devices_, *event);
    }
    return take_moments();
  }

  bool let_pass() {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->let_pass(); });
  }

  template <class Function>
  void each_edge(TaskId id, const Function& function) {
    for (std::uint32_t i = order_.first_edge[to_index(id)]; i < order_.first_edge[to_index(id) + 1]; ++i) {
      function(graph_.edges[order_.edges[i]]);
    }
  }

  const TaskGraph& graph_;
  const TaskOrder& order_;
  const GpuWork* gpu_work_;
  Instant now_ = 0;
  std::size_t done_ = 0;
  std::vector<std::uint32_t> missing_;       ///< by task: edges and queue places not satisfied yet
  std::vector<Instant> ready_;               ///< by task
  std::vector<std::optional<TaskId>> next_;  ///< by task: the one behind it in its queue
  std::vector<Instant> free_;                ///< by resource, of first-come ones; kNever: not known yet
  std::vector<std::vector<std::pair<Instant, TaskId>>> blocked_;  ///< by resource: since when, who waits for that end
  std::vector<std::unique_ptr<SharedDevice>> devices_;            ///< the cores, then GPUs
  std::vector<std::size_t> gpu_of_;                               ///< by resource: position in devices_
  Instant next_on_devices_ = kNever;
  std::vector<TaskMoment> moments_;
  using Waiting = std::tuple<Instant, Instant, TaskId>;  // feasible start, since when ready, task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  using End = std::pair<Instant, TaskId>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<TaskTimes> times_;
};

}  // namespace

std::vector<TaskTimes> run_events(const TaskGraph& graph, const TaskOrder& order, const SimulationOptions& options) {
  return EventLoop(graph, order, options).run();
}

}  // namespace cohort
