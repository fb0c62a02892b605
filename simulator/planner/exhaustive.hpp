#pragma once

#include <cstddef>

#include "simulator/planner/planner.hpp"

namespace cohort {

struct ExhaustiveSearch {
  double least_cost = 0;      ///< by the objective, as objective_cost() has it
  std::size_t evaluated = 0;  ///< plans
};

/// The best of every assignment of a strategy to every op of every class of equal members, with every way of running
/// the rest that plan_model_batch() knows, all simulated: what a search is held against. Only for small cases:
/// strategies^ops x rests.
/// Errors: kInvalidInput where there are more than `most` plans; those of lower().
Result<ExhaustiveSearch> search_exhaustively(const PlanningCase& planning_case, Objective objective,
                                             std::size_t most = 100'000);

}  // namespace cohort
