#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/result.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/predict/program_graph.hpp"
#include "simulator/report/run_facts.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// The predicted steady state of a plan.
struct Prediction {
  Nanoseconds step_time{};        ///< between the ends of two program steps
  double samples_per_second = 0;  ///< over all members
  Nanoseconds launch_to_end{};    ///< mean time of a program step from its launch until all its ops have ended
  /// By member: mean time from the launch of a program step until the member's last op in it has ended.
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

/// Brackets the effect of contention on a GPU: the step time if kernels did not slow each other, and if they ran one at
/// a time. On a CPU both are the step time.
struct ContentionBracket {
  Nanoseconds without{};
  Nanoseconds in_turn{};
};
/// Errors: those of build_task_graph().
Result<ContentionBracket> contention_bracket(const PredictionCase& prediction_case, const Prediction& prediction);

/// How many times faster the plan is.
double speedup(const Prediction& baseline, const Prediction& plan);

}  // namespace cohort
