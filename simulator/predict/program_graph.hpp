#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/engine/device_profile.hpp"
#include "simulator/engine/task_graph.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/program.hpp"
#include "simulator/predict/program_gpu.hpp"

namespace cohort {

/// The input of a prediction. All must outlive the call.
struct PredictionCase {
  const Plan* plan = nullptr;  ///< input settings, names of groups, minibatches
  const Program* program = nullptr;
  const CostTable* costs = nullptr;
  DeviceProfile device;
  bool with_overheads = true;  ///< false: without the host's costs of steps, launches and hand-offs
  GpuDemands* gpu = nullptr;   ///< steps share this GPU; null: they share the device's cores
  double op_scale = 1;         ///< factor on the ops' recorded costs
  /// Further program steps to simulate where no images are made for them: for a timeline, as each is as the one before.
  int more_iterations = 0;
};

/// A Program over several program steps as a task graph.
///
/// Each iteration is launched as a whole and waited for, as the runner does it, so no step of one
/// overlaps a step of the next; input is made ahead, as far as buffers allow:
///
///     host     |L0|                 |E0 L1|
///     stream 0    |== steps of 0 ==|       |== steps of 1 ==|
///     worker   |in 0|in 1| wait     |in 2|
///
/// On a GPU the host launches step by step, or once where the plan is captured as a graph; a kernel starts no sooner
/// than its launch reaches the device, and kernels of several streams contend as docs/contention.md says:
///
///     host     |a|b|c|d|                        wait
///     stream 0     |==== a ====|==== c ====|
///     stream 1       |===== b =====|==== d ====|
///
/// A minibatch is made by all decode workers, image by image in turn; `buffers` minibatches are in
/// flight in each pipeline. Images are copied to a GPU in the order of Feeder: with two buffers or more the next
/// minibatch while a step runs, and its buffer on the host is free once both have been waited for; with one buffer
/// before the step, and it is free after it:
///
///     host     |C0|L0|     |C1|   W0 |L1|       |C2| W1 |L2|     Ci as soon as minibatch i is decoded
///     copies      |0|         |1|                  |2|
///     stream 0       |== 0 ==|          |== 1 ==|       |== 2 ==|
///     worker   |in 0|in 1| wait      |in 2|in 3| wait   |in 4|
struct ProgramGraph {
  TaskGraph graph;
  int iterations = 0;                    ///< without further ones
  int shown = 0;                         ///< with them
  int first_steady = 0;                  ///< iterations before it fill the pipeline
  std::vector<TaskId> launches;          ///< by iteration: the host's work before its steps
  std::vector<TaskId> ends;              ///< by iteration: the moment all its steps are done
  std::array<std::size_t, 3> origins{};  ///< program steps by CostOrigin
  /// By TaskId, as in SimulationOptions, for steps that recorded neighbours slow; empty if there are none.
  std::vector<double> memory_use;
};

/// Errors: kInvalidInput naming the step whose op was not profiled, or the input stage.
Result<ProgramGraph> build_task_graph(const PredictionCase& prediction_case);

}  // namespace cohort
