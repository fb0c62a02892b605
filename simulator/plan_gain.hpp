#pragma once

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Where the gain of a predicted plan comes from: a walk from its baseline to it,
///
///     members alone -> together, in turn -> input as planned -> fused groups -> streams -> own algorithms
///                   overlap             sharing           fusion        overlap    algorithm choice
///
/// with the baseline's algorithms until the last step, and without what launches and hand-offs cost the host; how
/// that differs between both ends is launch removal. The parts add up to baseline - step time. A point of the walk
/// that a limit forbids is stepped over.
/// `predicted`: of predict_plan() for the same case, with its baselines.
/// Errors: those of predict_plan().
Result<Attribution> attribute_gain(const PlanningCase& planning_case, const PlanPrediction& predicted);

}  // namespace cohort
