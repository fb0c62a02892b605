#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/engine/device_profile.hpp"
#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

struct SimulationOptions {
  DeviceProfile device;                       ///< its cores, spin time and penalty; overheads are in the graph already
  std::optional<GpuWork> gpu = std::nullopt;  ///< the tasks that contend for a GPU instead of taking their duration
  bool share_multiprocessors = false;         ///< without `gpu`: kernels of a GPU share it by what they fill of it
  /// By TaskId: part of the host memory's bandwidth that a task on cores keeps busy alone, 0 to 1. Empty: none does.
  std::vector<double> memory_use = {};
  /// Slack and the critical path are towards its end; towards the last end of any task unless given.
  std::optional<TaskId> goal = std::nullopt;
};

struct TaskTimes {
  Nanoseconds start{};
  Nanoseconds end{};
  Nanoseconds slack{};  ///< how much later the task could have ended without a later makespan (or goal)

  friend bool operator==(const TaskTimes&, const TaskTimes&) = default;
};

/// What limits a schedule.
struct Binding {
  std::string resource;    ///< "cores", "multiprocessors", a resource's name, or "dependencies" where nothing is busy
                           ///< half of the time
  double utilisation = 0;  ///< part of the makespan that it was busy

  friend bool operator==(const Binding&, const Binding&) = default;
};

/// When each task runs.
struct Schedule {
  std::vector<TaskTimes> tasks;       ///< by TaskId
  Nanoseconds makespan{};             ///< end of the last task
  std::vector<TaskId> critical_path;  ///< in order of time; each starts because the one before it ended (or started)
  std::vector<Nanoseconds> busy;      ///< by ResourceId
  Nanoseconds longest_path{};         ///< over edges and launch order, every core free
  Nanoseconds core_time{};            ///< sum of duration x cores, divided by the device's cores
  Nanoseconds device_time{};          ///< sum of duration x part of the device that it fills, of the busiest GPU
  Nanoseconds lower_bound{};          ///< the largest of the three above; of the first two where no GPU is shared
  Nanoseconds serial_sum{};           ///< all durations one after another
  Binding binding;
};

/// Runs a task graph on a device with `options.device.cores` cores.
///
/// A task starts when every edge allows it, and its resource as far as that has an order (Discipline). Running tasks
/// share the cores: when they ask for more than there are, each one's rate is cores / asked, and that of a task on
/// several cores is divided by the oversubscription penalty as well. After a task on k > 1 cores its k - 1 helpers keep
/// asking for a core each, for the spin time or until the next such task on the same resource:
///
///     2 cores   stream  |== op, 2 cores ==|~ 1 helper spins ~~~|
///               worker                    |== decode, 1 core ==|   both cores busy
///
/// Where running tasks ask for more memory bandwidth than there is (`options.memory_use`), all that use memory go on at
/// their rate / asked, and keep their cores meanwhile.
///
/// Tasks named in `options.gpu` run on the GPU, as docs/contention.md says; their duration is what they take alone, for
/// bounds and slack.
///
/// Where nothing is shared, as in the replay of a recorded GPU trace, tasks take their durations (run_flat()).
///
/// Pure and deterministic: equal graphs give equal schedules, ties by task id.
/// The makespan is at least `lower_bound`; with a penalty of 1, no spinning and no delays it is at
/// most `serial_sum`, up to a rounding of 1 ns.
/// Complexity: O((tasks + edges) log tasks), and for each task on what is shared how many run beside it.
/// Errors: as order_tasks() and check_gpu_work(); kInvalidInput naming a task that asks for more cores than there are.
Result<Schedule> simulate(const TaskGraph& graph, const SimulationOptions& options);

/// The tasks' times in that schedule, without slack and all else that explains them.
/// Errors: as simulate().
Result<std::vector<TaskTimes>> simulate_times(const TaskGraph& graph, const SimulationOptions& options);

/// The last end.
Nanoseconds makespan_of(const std::vector<TaskTimes>& times);

}  // namespace cohort
