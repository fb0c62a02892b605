#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// A kernel that began or ended.
struct KernelMoment {
  TaskId task{};
  bool ended = false;
  double time = 0;  ///< nanoseconds since the start
};

/// How the kernels of one GPU share it: which run at which rates, and what ends next.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;
  /// The kernel's stream lets it go now.
  virtual Result<void> start(TaskId task) = 0;
  /// The next moment at which something changes on the device; absent while nothing runs.
  virtual std::optional<double> next_event() = 0;
  /// Moves on, at most to next_event().
  virtual void advance(double to) = 0;
  /// Appends what happened since the last call, in order of time.
  virtual void take_moments(std::vector<KernelMoment>& moments) = 0;

 protected:
  DeviceRun() = default;
  DeviceRun(const DeviceRun&) = default;
  DeviceRun& operator=(const DeviceRun&) = default;
};

/// Without knowledge of the device: a kernel asks for the part of it that its blocks fill (Task::waves,
/// at most all), and while kernels ask for more than there is, each goes on at the rate 1 / asked.
std::unique_ptr<DeviceRun> make_share_run(const TaskGraph& graph);

/// Blocks placed on SMs and sharing throughput (GpuEngine). Kernels that `work` does not name take their duration
/// beside it.
std::unique_ptr<DeviceRun> make_engine_run(const TaskGraph& graph, const GpuWork& work);

}  // namespace cohort
