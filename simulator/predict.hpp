#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "simulator/cost_table.hpp"
#include "simulator/device_profile.hpp"
#include "simulator/plan/plan.hpp"
#include "simulator/plan/program.hpp"
#include "simulator/program_gpu.hpp"
#include "simulator/run_facts.hpp"
#include "simulator/simulate.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a prediction is made of. All must outlive the call.
struct PredictionCase {
  const Plan* plan = nullptr;  ///< input settings, names of groups, minibatches
  const Program* program = nullptr;
  const CostTable* costs = nullptr;
  DeviceProfile device;
  bool with_overheads = true;  ///< false: what steps, launches and hand-offs cost the host is left out
  GpuDemands* gpu = nullptr;   ///< steps share this GPU; null: they share the device's cores
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
/// flight in each pipeline.
struct ProgramGraph {
  TaskGraph graph;
  int iterations = 0;
  int first_steady = 0;                  ///< iterations before it fill the pipeline
  std::vector<TaskId> launches;          ///< by iteration: the host's work before its steps
  std::vector<TaskId> ends;              ///< by iteration: the moment all its steps are done
  std::array<std::size_t, 3> origins{};  ///< program steps by CostOrigin
};

/// Errors: kInvalidInput naming the step whose op was not profiled, or the input stage.
Result<ProgramGraph> build_task_graph(const PredictionCase& prediction_case);

/// What a plan is predicted to do, once input and device have settled.
struct Prediction {
  Nanoseconds step_time{};        ///< between the ends of two program steps
  double samples_per_second = 0;  ///< over all members
  Nanoseconds launch_to_end{};    ///< of a program step, from its launch until all its ops have ended; the mean
  /// By member: from the launch of a program step until the member's last op in it has ended; the mean.
  std::vector<Nanoseconds> member_latency;
  Nanoseconds p99_latency{};  ///< nearest-rank 99th percentile of the same, over all members and steady program steps
  Nanoseconds lower_bound{};  ///< of the step time: longest chain of steps, cores or decode workers
  Nanoseconds upper_bound{};  ///< of the step time: everything one after another (step_bounds())
  Binding binding;
  std::array<std::size_t, 3> origins{};  ///< program steps by CostOrigin
  MemoryUse memory;

  [[nodiscard]] std::size_t steps(CostOrigin origin) const { return origins[static_cast<std::size_t>(origin)]; }
};

/// Errors: those of build_task_graph().
Result<Prediction> predict(const PredictionCase& prediction_case);

/// A prediction with its timeline: kind kPredicted, the same tracks and arguments as a measured
/// trace and each slice's slack, wall time "plan".
struct PredictedRun {
  Prediction prediction;
  RunFacts facts;  ///< of the program steps after input and device have settled
  Trace trace;
};
Result<PredictedRun> predict_run(const PredictionCase& prediction_case, const DeviceInfo& device);

/// How much of a GPU's step time is the model of contention: the same program if what runs at a time took no longer
/// for it, and if nothing ran beside another. On a CPU both are the step time.
struct ContentionBracket {
  Nanoseconds without{};
  Nanoseconds in_turn{};
};
/// Errors: those of build_task_graph().
Result<ContentionBracket> contention_bracket(const PredictionCase& prediction_case, const Prediction& prediction);

/// How many times faster the plan is.
double speedup(const Prediction& baseline, const Prediction& plan);

struct SpeedupPrediction {
  Prediction plan, baseline;
  double speedup = 1;
};
Result<SpeedupPrediction> predict_speedup(const PredictionCase& plan, const PredictionCase& baseline);

}  // namespace cohort
