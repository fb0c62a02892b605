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
        ready_(graph.resources.size()),
        is_connected_(graph.tasks.size(), false),
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
    if (!is_connected_[to_index(task)] || --launches_[to_index(task)] > 0) return;
    const ResourceId stream = graph_.task(task).resource;
    connections_[connection_of_[to_index(stream)]].push_back(stream);
  }

  void start(TaskId task) override {
    if (!is_connected_[to_index(task)]) return hand_over(task);
    const std::size_t stream = to_index(graph_.task(task).resource);
    ready_[stream].push_back(task);
    std::deque<ResourceId>& places = connections_[connection_of_[stream]];
    while (!places.empty() && hand_over_of(places.front())) places.pop_front();
  }

  bool let_pass() override {
    for (std::deque<ResourceId>& places : connections_) {
      const auto passing = std::find_if(places.begin(), places.end(), [&](ResourceId s) { return hand_over_of(s); });
      if (passing == places.end()) continue;
      places.erase(passing);
      return true;
    }
    return false;
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
  /// Kernels that wait in a connection: each the only one of its launches.
  void find_connected() {
    const auto is_kernel = [&](TaskId task) {
      const auto& work = work_.tasks[to_index(task)];
      return work && std::holds_alternative<KernelTask>(*work);
    };
    std::vector<std::uint32_t> kernels(graph_.tasks.size(), 0);  // by task: how many it launches
    for (const Edge& edge : graph_.edges) {
      if (edge.kind != EdgeKind::kLaunch || !is_kernel(edge.to)) continue;
      ++kernels[to_index(edge.from)];
      ++launches_[to_index(edge.to)];
    }
    for (std::size_t i = 0; i < launches_.size(); ++i) is_connected_[i] = launches_[i] > 0;
    for (const Edge& edge : graph_.edges) {
      if (edge.kind == EdgeKind::kLaunch && kernels[to_index(edge.from)] > 1) is_connected_[to_index(edge.to)] = false;
    }
  }

  /// Whether the stream had a kernel that waits for nothing but its place.
  bool hand_over_of(ResourceId stream) {
    std::deque<TaskId>& ready = ready_[to_index(stream)];
    if (ready.empty()) return false;
    hand_over(ready.front());
    ready.pop_front();
    return true;
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
  /// In the order of launches, the streams of kernels that were not handed over. A place is its stream's, not its
  /// kernel's: where several threads launch into one stream, its order may be another than that of the calls.
  std::vector<std::deque<ResourceId>> connections_;
  std::vector<std::uint32_t> connection_of_;  ///< by resource
  std::vector<std::deque<TaskId>> ready_;     ///< by resource: what only its connection holds up
  std::vector<bool> is_connected_;            ///< by task
  std::vector<std::uint32_t> launches_;       ///< by task: calls that launch it, not made yet
};

}  // namespace

std::unique_ptr<SharedDevice> share_gpu(const TaskGraph& graph, const GpuWork& work, std::int32_t device) {
  return std::make_unique<SharedGpu>(graph, work, device);
}

}  // namespace cohort
