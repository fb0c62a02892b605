#include <algorithm>
#include <limits>

#include "simulator/engine/shared_device.hpp"

namespace cohort {
namespace {

class SharedMultiprocessors final : public SharedDevice {
 public:
  explicit SharedMultiprocessors(const TaskGraph& graph) : graph_(graph) {}

  void start(TaskId id) override {
    const Task& task = graph_.task(id);
    kernels_.push_back(
        {id, static_cast<double>(task.duration.count()), std::min(1.0, static_cast<double>(task.waves))});
    asked_ += kernels_.back().asks;
    moments_.push_back({id, false, now_});
  }

  std::optional<Instant> next_event() override {
    if (kernels_.empty()) return std::nullopt;
    Instant next = std::numeric_limits<Instant>::infinity();
    for (const Running& kernel : kernels_) next = std::min(next, end_of(kernel));
    return next;
  }

  void advance(Instant to) override {
    if (to > now_) {
      for (Running& kernel : kernels_) kernel.remaining -= (to - now_) * rate();
      now_ = to;
    }
    const auto is_done = [&](const Running& kernel) { return end_of(kernel) <= now_; };
    for (const Running& kernel : kernels_) {
      if (is_done(kernel)) moments_.push_back({kernel.task, true, now_});
    }
    kernels_.erase(std::remove_if(kernels_.begin(), kernels_.end(), is_done), kernels_.end());
    asked_ = 0;  // summed anew, so that nothing is left of sums that do not cancel
    for (const Running& kernel : kernels_) asked_ += kernel.asks;
  }

  void take_moments(std::vector<TaskMoment>& moments) override {
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
  /// Exact where nothing is shared.
  [[nodiscard]] Instant end_of(const Running& kernel) const {
    return kernel.remaining <= kSameInstant ? now_ : now_ + kernel.remaining / rate();
  }

  const TaskGraph& graph_;
  Instant now_ = 0;
  double asked_ = 0;
  std::vector<Running> kernels_;
  std::vector<TaskMoment> moments_;
};

}  // namespace

std::unique_ptr<SharedDevice> share_multiprocessors(const TaskGraph& graph) {
  return std::make_unique<SharedMultiprocessors>(graph);
}

}  // namespace cohort
