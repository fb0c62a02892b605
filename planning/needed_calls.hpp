#pragma once

#include <string>
#include <vector>

#include "executor/profile/case_selection.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Calls of a plan that no profile of `planning_case` has timed at their width, so that its prediction interpolates or
/// estimates them. Each once, in the plan's order. Copies into and out of stacks are left out: they are timed with the
/// calls that need them.
/// Errors: those of lower() and of the cost table.
Result<std::vector<WantedCase>> needed_calls(const PlanningCase& planning_case, const Plan& plan);

}  // namespace cohort
