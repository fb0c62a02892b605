#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/engine/device_profile.hpp"
#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// Nanoseconds since the start. A double, because what is shared ends tasks between nanoseconds; it holds whole
/// nanoseconds exactly up to 104 days.
using Instant = double;

/// Below this, a moment is now: far under a nanosecond, far above what doubles lose.
constexpr Instant kSameInstant = 1e-3;

/// A task that began or ended.
struct TaskMoment {
  TaskId task{};
  bool ended = false;
  Instant time = 0;
};

/// A device that several tasks use at the same time: which of them run, at which rates, and what ends next.
class SharedDevice {
 public:
  virtual ~SharedDevice() = default;
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  /// A call that launches the task was made; the task itself may have to wait yet.
  virtual void launched(TaskId /*task*/) {}
  /// All that the task waits for is there.
  virtual void start(TaskId task) = 0;
  /// The next moment at which something changes; absent while nothing runs.
  virtual std::optional<Instant> next_event() = 0;
  /// Moves on, at most to next_event().
  virtual void advance(Instant to) = 0;
  /// Resolves a deadlock: starts a task that waits for no other but is queued behind one that waits for it.
  virtual bool let_pass() { return false; }
  /// Appends what happened since the last call, in order of time.
  virtual void take_moments(std::vector<TaskMoment>& moments) = 0;

 protected:
  SharedDevice() = default;
};

/// Cores, as simulate() says: tasks that ask for more than there are all run slower, helper threads spin. A resource's
/// tasks on several cores come one at a time.
/// `memory_use`: as in SimulationOptions.
std::unique_ptr<SharedDevice> share_cores(const TaskGraph& graph, const DeviceProfile& device,
                                          std::span<const double> memory_use);

/// A GPU of which nothing is known: a kernel asks for the part of it that its blocks fill (Task::waves, at most all),
/// and while kernels ask for more than there is, each goes on at the rate 1 / asked:
///
///     a asks for 0.75   |=====a======|          alone each would take 8
///     b asks for 0.75       |=====b======|      beside each other both run at 1 / 1.5
std::unique_ptr<SharedDevice> share_multiprocessors(const TaskGraph& graph);

/// GPU number `device` (Resource::device): blocks placed on SMs and sharing throughput, copies on their engines
/// (GpuEngine). Streams are dealt to hardware connections in turn. A connection keeps the order of launches: a kernel
/// that waits for its stream holds up those launched behind it, except one that it waits for itself, as only launches
/// of several threads can come. Kernels whose launch is not known, and several that one call launches together, as a
/// graph, wait in none. Kernels that `work` does not name run beside it by the part of the device that they fill.
/// `work` was checked by check_gpu_work().
std::unique_ptr<SharedDevice> share_gpu(const TaskGraph& graph, const GpuWork& work, std::int32_t device);

}  // namespace cohort
