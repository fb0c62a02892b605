#pragma once

#include "base/device.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Whether anything can be planned or predicted for a case. Errors: kInvalidInput saying what it lacks.
Result<void> check_case(const PlanningCase& planning_case);

/// One step of every member, with and without the host's part.
struct BaselineTimes {
  Nanoseconds step_time{};
  Nanoseconds without_overheads{};
};
/// As the plan's baselines have it. Of those with a pipeline each, members that share a baseline and a model take the
/// same.
Result<BaselineTimes> baseline_times(PlanEvaluator& evaluator, const PlanningCase& planning_case, const Plan& plan);

/// predict_plan() of a plan that holds its baselines, which take `baseline`, and that was lowered to `program`.
Result<PlanPrediction> predict_lowered(const PlanEvaluator& evaluator, const PlanningCase& planning_case, Plan plan,
                                       const Program& program, Nanoseconds baseline, const DeviceInfo& device);

}  // namespace cohort
