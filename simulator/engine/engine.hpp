#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "simulator/contention/gpu_engine.hpp"
#include "simulator/engine/device_profile.hpp"
#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// The event loop of simulate(): which tasks run, at which rate, and when the next one ends. Tasks on cores share them
/// here; those on a GPU go through a GpuEngine once their stream and their hardware connection let them.
class Engine {
 public:
  /// `gpu` may be null; else it was checked by check_gpu_work(). `memory_use`: as in SimulationOptions.
  Engine(const TaskGraph& graph, const TaskOrder& order, const DeviceProfile& device, const GpuWork* gpu = nullptr,
         std::span<const double> memory_use = {});

  /// Start and end of every task; slack is not filled in.
  std::vector<TaskTimes> run();

 private:
  /// Nanoseconds since the start. A double, because shared cores end tasks between nanoseconds; it
  /// holds whole nanoseconds exactly up to 104 days.
  using Instant = double;

  struct Running {
    TaskId task{};
    double remaining = 0;  ///< nanoseconds at rate 1
    double rate = 1;
  };
  struct Lane {
    std::size_t next = 0;  ///< position in its queue
    bool busy = false;
    int spinning = 0;  ///< helper threads of the last task on several cores
    Instant spin_end = 0;
  };
  using Waiting = std::pair<Instant, TaskId>;

  void offer(ResourceId resource);
  void start(TaskId task);
  void finish(TaskId task);
  void satisfy(TaskId task, Anchor anchor);
  void prepare_gpu();
  bool start_due();
  void start_on_gpu(TaskId task);
  void hand_over(TaskId task);
  void queue_launch(TaskId task);
  bool gpu_due();
  [[nodiscard]] bool is_kernel(TaskId task) const;
  bool finish_due();
  void set_rates();
  void share_memory();
  Instant next_event();
  void advance(Instant to);

  const TaskGraph* graph_;
  const TaskOrder* order_;
  const DeviceProfile* device_;
  Instant now_ = 0;
  std::vector<std::uint32_t> missing_;  ///< by task: edges not satisfied yet
  std::vector<Instant> ready_;          ///< by task: the latest moment that satisfied edges ask for
  std::vector<Lane> lanes_;             ///< by resource
  std::vector<Running> running_;        ///< ascending by task
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::vector<TaskTimes> times_;

  /// A hardware queue: kernels of its streams in the order of their launches. One that waits for its stream holds up
  /// those behind it.
  struct Connection {
    std::deque<TaskId> launched;
  };
  enum class Launch : char { kNot, kQueued, kParked, kGone };  // parked: only its connection holds it up
  std::span<const double> memory_use_;
  const GpuWork* gpu_work_;
  std::optional<GpuEngine> gpu_;
  std::vector<Connection> connections_;
  std::vector<Launch> launch_;               ///< by task
  std::vector<std::uint32_t> launch_edges_;  ///< by task: from launches, not satisfied yet
};

}  // namespace cohort
