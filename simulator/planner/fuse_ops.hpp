#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/planner/planner.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

/// A plan of the case's members whose ops run as `rest` and `streams` say, but for those that members compute together:
/// with `patterns` the ops of these names (matches_pattern()), each in the fastest recorded way that can take it;
/// without any op by op what recorded times say is faster than by themselves. Launches are as the base says. Errors:
/// kNegativeAnswer naming the pattern that no op has, or the op that nothing can fuse, and why.
Result<Plan> plan_with_fused_ops(const PlanningCase& planning_case, RestKind rest, int streams,
                                 const std::optional<std::vector<std::string>>& patterns);

}  // namespace cohort
