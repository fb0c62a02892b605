#pragma once

#include <vector>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// The ways to decode images ahead among which the options let the planner choose: the base's first, then each number
/// of workers (1, 2, 4, ... and all cores) with each number of buffers. Only the base's where nothing is decoded.
std::vector<InputSetting> input_settings(const PlanningCase& planning_case, const PlannerOptions& options);

/// Of these, those that differ from `setting` in one of the two.
std::vector<InputSetting> changed_input_settings(const InputSetting& setting, const PlanningCase& planning_case,
                                                 const PlannerOptions& options);

/// Members one after another, with the one of input_settings() that suits them best: what every plan is held against.
/// Errors: those of predict_baseline() with the base's settings.
Result<BaselinePrediction> best_baseline(const PlanningCase& planning_case, const PlannerOptions& options);

}  // namespace cohort
