#pragma once

#include <vector>

#include "base/result.hpp"
#include "simulator/costs/cost_table.hpp"
#include "simulator/costs/reuse_distance.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// By step: how many other streams may run something at the same time, at most `most`.
/// O(steps x streams + dependencies x streams).
std::vector<int> neighbours_of(const Program& program, int most);

struct StepCost {
  Cost alone;
  int neighbours = 0;    ///< other streams that may run something at the same time, at most one for each other core
  Nanoseconds beside{};  ///< what it takes while so many cores do the same; the time alone where there are none
};

/// By step. Errors: those of CostTable::cost(), naming the task.
Result<std::vector<StepCost>> step_costs(const Program& program, const CostTable& costs, int cores);

}  // namespace cohort
