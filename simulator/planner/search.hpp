#pragma once

#include "simulator/planner/planner.hpp"

namespace cohort {

/// plan_model_batch() for a case that was checked.
Result<PlanningResult> search_plans(const PlanningCase& planning_case, const PlannerOptions& options);

}  // namespace cohort
