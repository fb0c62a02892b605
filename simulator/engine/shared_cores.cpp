#include <algorithm>
#include <limits>

#include "simulator/engine/shared_device.hpp"

namespace cohort {
namespace {

class SharedCores final : public SharedDevice {
 public:
  SharedCores(const TaskGraph& graph, const DeviceProfile& device, std::span<const double> memory_use)
      : graph_(graph), device_(device), memory_use_(memory_use), spinning_(graph.resources.size()) {}

  void start(TaskId id) override {
    const Task& task = graph_.task(id);
    if (task.cores > 1) spinning_[to_index(task.resource)].helpers = 0;
    const auto place = std::lower_bound(running_.begin(), running_.end(), id,
                                        [](const Running& other, TaskId task_id) { return other.task < task_id; });
    running_.insert(place, {id, static_cast<double>(task.duration.count()), 1});
    moments_.push_back({id, false, now_});
    next_.reset();
  }

  std::optional<Instant> next_event() override {
    if (!next_) next_ = find_next();
    if (*next_ == kNever) return std::nullopt;
    return next_;
  }

  void advance(Instant to) override {
    if (!next_event()) {
      now_ = to;
      return;
    }
    for (Running& run : running_) run.remaining -= (to - now_) * run.rate;
    now_ = to;
    if (*next_ > now_ + kSameInstant) return;
    // What is left may be less than doubles tell apart so late.
    const auto is_done = [this](const Running& run) {
      return run.remaining <= kSameInstant * run.rate || now_ + run.remaining / run.rate <= now_;
    };
    for (const Running& run : running_) {
      if (is_done(run)) end(run.task);
    }
    running_.erase(std::remove_if(running_.begin(), running_.end(), is_done), running_.end());
    next_.reset();
  }

  void take_moments(std::vector<TaskMoment>& moments) override {
    moments.insert(moments.end(), moments_.begin(), moments_.end());
    moments_.clear();
  }

 private:
  static constexpr Instant kNever = std::numeric_limits<Instant>::infinity();

  struct Running {
    TaskId task{};
    double remaining = 0;  ///< nanoseconds at rate 1
    double rate = 1;
  };
  /// Helper threads of the last task on several cores.
  struct Spinning {
    int helpers = 0;
    Instant end = 0;
  };

  void end(TaskId id) {
    const Task& task = graph_.task(id);
    moments_.push_back({id, true, now_});
    if (task.cores > 1) {
      spinning_[to_index(task.resource)] = {task.cores - 1, now_ + static_cast<double>(device_.spin_time.count())};
    }
  }

  [[nodiscard]] bool spins(const Spinning& spinning) const {
    return spinning.helpers > 0 && spinning.end > now_ + kSameInstant;
  }

  Instant find_next() {
    set_rates();
    Instant next = kNever;
    for (const Running& run : running_) next = std::min(next, now_ + run.remaining / run.rate);
    for (const Spinning& spinning : spinning_) {
      if (spins(spinning)) next = std::min(next, spinning.end);
    }
    return next;
  }

  void set_rates() {
    std::int64_t asked = 0;
    for (const Running& run : running_) asked += graph_.task(run.task).cores;
    for (const Spinning& spinning : spinning_) asked += spins(spinning) ? spinning.helpers : 0;
    const double share = asked > device_.cores ? static_cast<double>(device_.cores) / static_cast<double>(asked) : 1;
    for (Running& run : running_) {
      run.rate = share;
      if (graph_.task(run.task).cores > 1 && share < 1) run.rate /= device_.oversubscription_penalty;
    }
    if (!memory_use_.empty()) share_memory();
  }

  /// Tasks that together ask for more than the memory's bandwidth all lose the same part of their rates. Their cores
  /// wait with them and are free for nobody else.
  void share_memory() {
    double asked = 0;
    for (const Running& run : running_) asked += memory_use_[to_index(run.task)] * run.rate;
    if (asked <= 1) return;
    for (Running& run : running_) {
      if (memory_use_[to_index(run.task)] > 0) run.rate /= asked;
    }
  }

  const TaskGraph& graph_;
  const DeviceProfile& device_;
  std::span<const double> memory_use_;
  Instant now_ = 0;
  std::optional<Instant> next_;     ///< absent: rates have to be set anew
  std::vector<Running> running_;    ///< ascending by task
  std::vector<Spinning> spinning_;  ///< by resource
  std::vector<TaskMoment> moments_;
};

}  // namespace

std::unique_ptr<SharedDevice> share_cores(const TaskGraph& graph, const DeviceProfile& device,
                                          std::span<const double> memory_use) {
  return std::make_unique<SharedCores>(graph, device, memory_use);
}

}  // namespace cohort
