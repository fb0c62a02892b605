#include <algorithm>
#include <cassert>
#include <deque>
#include <variant>

#include "simulator/contention/gpu_engine.hpp"
#include "simulator/engine/shared_device.hpp"

namespace cohort {
namespace {

class SharedGpu final : public SharedDevice {
 public:
  SharedGpu(const TaskGraph& graph, const GpuWork& work, std::int32_t device)
      : work_(work),
        graph_(graph),
        rest_(share_multiprocessors(graph)),
        engine_(work.profile),
        connections_(static_cast<std::size_t>(work.profile.connections)),
        connection_of_(graph.resources.size(), 0),
        way_(graph.tasks.size(), Way::kFree),
        launches_(graph.tasks.size(), 0) {
    std::size_t streams = 0;
    for (std::size_t i = 0; i < graph.resources.size(); ++i) {
      const Resource& resource = graph.resources[i];
      if (resource.kind != ResourceKind::kStream || resource.device != device) continue;
      connection_of_[i] = static_cast<std::uint32_t>(streams++ % connections_.size());
    }
    find_connected();
  }

  void launched(TaskId task) override {
    if (way_[to_index(task)] != Way::kConnected || --launches_[to_index(task)] > 0) return;
    way_[to_index(task)] = Way::kQueued;
    queue_of(task).push_back(task);
  }

  void start(TaskId task) override {
    Way& way = way_[to_index(task)];
    if (way == Way::kFree) return hand_over(task);
    way = Way::kParked;
    std::deque<TaskId>& queue = queue_of(task);
    while (!queue.empty() && way_[to_index(queue.front())] == Way::kParked) {
      hand_over(queue.front());
      queue.pop_front();
    }
  }

  std::optional<Instant> next_event() override {
    const std::optional<Instant> next = engine_.next_event();
    const std::optional<Instant> rest = rest_->next_event();
    if (!next || !rest) return next ? next : rest;
    return std::min(*next, *rest);
  }

  void advance(Instant to) override {
    engine_.advance(to);
    rest_->advance(to);
  }

  void take_moments(std::vector<TaskMoment>& moments) override {
    for (const GpuEvent& event : engine_.take_events()) {
      moments.push_back({TaskId(event.token), event.kind == GpuEvent::Kind::kEnded, event.time_ns});
    }
    rest_->take_moments(moments);
  }

 private:
  /// How a task comes to the device.
  enum class Way : char {
    kFree,       ///< waits in no connection
    kConnected,  ///< will take its place in one when it is launched
    kQueued,     ///< has its place
    kParked,     ///< only its connection holds it up
  };

  /// Kernels that wait in a connection: each the only one of its launches.
  void find_connected() {
    std::vector<std::uint32_t> launched(graph_.tasks.size(), 0);  // by task: how many tasks it launches
    for (const Edge& edge : graph_.edges) {
      if (edge.kind != EdgeKind::kLaunch) continue;
      ++launched[to_index(edge.from)];
      ++launches_[to_index(edge.to)];
    }
    for (std::size_t i = 0; i < way_.size(); ++i) {
      const auto& work = work_.tasks[i];
      if (launches_[i] > 0 && work && std::holds_alternative<KernelTask>(*work)) way_[i] = Way::kConnected;
    }
    for (const Edge& edge : graph_.edges) {
      if (edge.kind == EdgeKind::kLaunch && launched[to_index(edge.from)] > 1) way_[to_index(edge.to)] = Way::kFree;
    }
  }

  std::deque<TaskId>& queue_of(TaskId task) {
    return connections_[connection_of_[to_index(graph_.task(task).resource)]];
  }

  void hand_over(TaskId id) {
    const auto& work = work_.tasks[to_index(id)];
    const auto token = static_cast<std::uint32_t>(id);
    if (!work) {
      rest_->start(id);
    } else if (const auto* kernel = std::get_if<KernelTask>(&*work)) {
      const Result<void> started = engine_.start_kernel(work_.kernels[kernel->kernel], token);
      assert(started.has_value());  // check_gpu_work() has seen to it
      static_cast<void>(started);
    } else {
      engine_.start_copy(work_.copies[std::get<CopyTask>(*work).copy], token);
    }
  }

  const GpuWork& work_;
  const TaskGraph& graph_;
  std::unique_ptr<SharedDevice> rest_;
  GpuEngine engine_;
  std::vector<std::deque<TaskId>> connections_;  ///< kernels in the order of their launches
  std::vector<std::uint32_t> connection_of_;     ///< by resource
  std::vector<Way> way_;                         ///< by task
  std::vector<std::uint32_t> launches_;          ///< by task: calls that launch it, not made yet
};

}  // namespace

std::unique_ptr<SharedDevice> share_gpu(const TaskGraph& graph, const GpuWork& work, std::int32_t device) {
  return std::make_unique<SharedGpu>(graph, work, device);
}

}  // namespace cohort
