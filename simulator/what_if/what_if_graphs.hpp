#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/costs/recorded_gpu_work.hpp"
#include "simulator/transform/graph_launch.hpp"
#include "simulator/transform/merge.hpp"
#include "simulator/transform/replicate.hpp"
#include "simulator/what_if/times_alone.hpp"
#include "simulator/what_if/what_if.hpp"

namespace cohort {

/// Which parts of a what-if are switched on; they are switched on one by one to tell what each gains.
struct WhatIfStage {
  bool retimed = false, graphs = false, shared = false, together = false, fused = false;

  friend bool operator==(const WhatIfStage&, const WhatIfStage&) = default;
};

/// Makes the task graphs that a what-if is about.
class WhatIfGraphs {
 public:
  using Changes = std::vector<std::pair<std::string, Change>>;

  WhatIfGraphs(const WhatIfCase& what_if_case, const WhatIf& what_if);

  /// For work that contends on a GPU: kernels recorded beside others then take the times that they would take alone.
  /// Call before any graph is made.
  Result<void> find_times_alone();
  /// Gives every trace's step the wanted minibatch; call before anything else.
  Result<void> change_minibatch();
  /// One member's steps of a trace, so changed.
  Result<TaskGraph> one(std::size_t index, const WhatIfStage& stage, int steps);
  /// So many members of a trace; a single one shares and fuses nothing, whatever the stage.
  Result<TaskGraph> members_of(std::size_t index, const WhatIfStage& stage, int steps, int members);
  /// All members of all traces; `parts` gets which tasks were recorded in which trace.
  Result<TaskGraph> whole(const WhatIfStage& stage, int steps, std::vector<RecordedTasks>& parts);
  /// How a graph of that stage runs.
  Result<SimulationOptions> options(const TaskGraph& graph, const WhatIfStage& stage,
                                    std::span<const RecordedTasks> parts) const;

  /// Records changes from now on in `changes`; null: no more.
  void note_changes(Changes* changes) { changes_ = changes; }
  [[nodiscard]] const TaskGraph& step(std::size_t index) const { return steps_[index]; }
  [[nodiscard]] bool on_host() const { return on_host_; }
  /// Of the CPU, where on_host().
  [[nodiscard]] int cores() const { return cores_; }
  /// By trace; empty where they were not looked for.
  [[nodiscard]] const std::vector<TimesAlone>& times_alone_of_kernels() const { return times_alone_; }
  [[nodiscard]] const std::vector<std::string>& unknown_devices() const { return unknown_devices_; }
  /// Recorded devices whose names are not that of the figures given.
  [[nodiscard]] const std::vector<std::string>& foreign_devices() const { return foreign_devices_; }
  [[nodiscard]] const std::optional<GpuProfile>& gpu() const { return gpu_; }
  /// The part of a launch in which it holds the driver's lock; absent where figures do not say.
  [[nodiscard]] std::optional<double> lock_part() const;
  [[nodiscard]] const std::vector<std::string>& minibatch_doubts() const { return minibatch_doubts_; }
  /// Host work besides launches in one step of a trace: removed with the launches, and kept beside graph launches.
  struct HostTime {
    Nanoseconds removed{}, kept{};
  };
  /// By trace.
  [[nodiscard]] const std::vector<HostTime>& host_times_beside_graphs() const { return host_times_; }

 private:
  void take_cores(const Trace& trace, TaskGraph& graph) const;
  Result<void> take_times_alone(std::size_t index, TaskGraph& graph);
  Result<void> slow_hosts(TaskGraph& graph);
  Result<void> put_together(TaskGraph& graph, const std::vector<MemberTasks>& members);
  Result<void> change_one(std::size_t index, const WhatIfStage& stage, int steps, TaskGraph& graph);
  Result<void> launch_as_graphs(std::size_t index, TaskGraph& graph);
  Result<void> buffer_input(TaskGraph& graph, const Selection& copies);
  Result<void> retime_tasks(TaskGraph& graph);
  Result<void> halve_precision(TaskGraph& graph);
  [[nodiscard]] bool any_step_has(const std::function<bool(const TaskGraph&, const Task&)>& holds) const;
  Result<void> share_input(TaskGraph& graph);
  [[nodiscard]] Fusion fusion_of(std::size_t index, const TaskGraph& graph, const Selection& group) const;
  Result<Selection> chosen_to_fuse(const TaskGraph& graph) const;
  Result<void> fuse(std::size_t index, TaskGraph& graph);
  [[nodiscard]] GraphLaunchCosts graph_costs(std::size_t index) const;
  Result<void> note(const std::string& what, Result<Change> change);

  const WhatIfCase& case_;
  const WhatIf& what_if_;
  std::vector<TaskGraph> steps_;           ///< by trace: one member's step
  std::vector<LaunchCosts> launch_costs_;  ///< by trace
  std::vector<bool> known_;                ///< by trace: its device has figures
  std::vector<TimesAlone> times_alone_;    ///< by trace, or empty
  bool on_host_ = true;                    ///< runs of a CPU: tasks share its cores
  int cores_ = 1;
  std::optional<GpuProfile> gpu_;  ///< of the traces' device, where it has figures
  std::vector<std::string> unknown_devices_;
  std::vector<std::string> foreign_devices_;
  std::vector<std::string> minibatch_doubts_;
  std::vector<HostTime> host_times_;  ///< by trace, of one step launched as graphs
  Changes* changes_ = nullptr;
};

}  // namespace cohort
