#include "simulator/engine/device_run.hpp"

#include <algorithm>
#include <limits>
#include <variant>

#include "simulator/contention/gpu_engine.hpp"

namespace cohort {
namespace {

class ShareRun final : public DeviceRun {
 public:
  explicit ShareRun(const TaskGraph& graph) : graph_(graph) {}

  Result<void> start(TaskId id) override {
    const Task& task = graph_.task(id);
    kernels_.push_back(
        {id, static_cast<double>(task.duration.count()), std::min(1.0, static_cast<double>(task.waves))});
    asked_ += kernels_.back().asks;
    moments_.push_back({id, false, now_});
    return {};
  }

  std::optional<double> next_event() override {
    if (kernels_.empty()) return std::nullopt;
    double next = std::numeric_limits<double>::infinity();
    for (const Running& kernel : kernels_) next = std::min(next, end_of(kernel));
    return next;
  }

  void advance(double to) override {
    if (to > now_) {
      for (Running& kernel : kernels_) kernel.remaining -= (to - now_) * rate();
      now_ = to;
    }
    for (const Running& kernel : kernels_) {
      if (end_of(kernel) <= now_) moments_.push_back({kernel.task, true, now_});
    }
    kernels_.erase(
        std::remove_if(kernels_.begin(), kernels_.end(), [&](const Running& kernel) { return end_of(kernel) <= now_; }),
        kernels_.end());
    asked_ = 0;  // summed anew, so that nothing is left of sums that do not cancel
    for (const Running& kernel : kernels_) asked_ += kernel.asks;
  }

  void take_moments(std::vector<KernelMoment>& moments) override {
    moments.insert(moments.end(), moments_.begin(), moments_.end());
    moments_.clear();
  }

 private:
  struct Running {
    TaskId task{};
    double remaining = 0;  ///< nanoseconds at rate 1
    double asks = 0;
  };

  [[nodiscard]] double rate() const { return 1 / std::max(1.0, asked_); }
  /// Far under a nanosecond off, and exact where nothing is shared.
  [[nodiscard]] double end_of(const Running& kernel) const {
    constexpr double kSameInstant = 1e-4;
    return kernel.remaining <= kSameInstant ? now_ : now_ + kernel.remaining / rate();
  }

  const TaskGraph& graph_;
  double now_ = 0;
  double asked_ = 0;
  std::vector<Running> kernels_;
  std::vector<KernelMoment> moments_;
};

class EngineRun final : public DeviceRun {
 public:
  EngineRun(const TaskGraph& graph, const GpuWork& work) : rest_(graph), work_(work), engine_(work.profile) {}

  Result<void> start(TaskId id) override {
    const auto& task = work_.tasks[to_index(id)];
    const auto* kernel = task ? std::get_if<KernelTask>(&*task) : nullptr;
    if (kernel == nullptr) return rest_.start(id);
    return engine_.start_kernel(work_.kernels[kernel->kernel], static_cast<std::uint32_t>(id));
  }
  std::optional<double> next_event() override {
    const std::optional<double> next = engine_.next_event();
    const std::optional<double> rest = rest_.next_event();
    if (!next || !rest) return next ? next : rest;
    return std::min(*next, *rest);
  }
  void advance(double to) override {
    engine_.advance(to);
    rest_.advance(to);
  }
  void take_moments(std::vector<KernelMoment>& moments) override {
    for (const GpuEvent& event : engine_.take_events()) {
      moments.push_back({TaskId(event.token), event.kind == GpuEvent::Kind::kEnded, event.time_ns});
    }
    rest_.take_moments(moments);
  }

 private:
  ShareRun rest_;
  const GpuWork& work_;
  GpuEngine engine_;
};

}  // namespace

std::unique_ptr<DeviceRun> make_share_run(const TaskGraph& graph) { return std::make_unique<ShareRun>(graph); }

std::unique_ptr<DeviceRun> make_engine_run(const TaskGraph& graph, const GpuWork& work) {
  return std::make_unique<EngineRun>(graph, work);
}

}  // namespace cohort
