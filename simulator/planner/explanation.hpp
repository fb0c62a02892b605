#pragma once

#include <string>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// One line: what a candidate is worth by the result's objective, where its gain comes from, what binds it and what it
/// takes of memory. Beside the first candidate of `result`; where that is empty the candidate will be the first.
std::string explanation_of(const PlanCandidate& candidate, const PlanningResult& result);

}  // namespace cohort
