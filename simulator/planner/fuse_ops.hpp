#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

/// A plan of the case's members whose ops run as `rest` and `streams` say, but for those that members compute together:
/// the ops of these names (matches_pattern()), each in the fastest recorded way that can take it, such that together
/// they take least; of a pattern with '*' those stay alone that nothing can fuse. Launches are as the base says.
/// Errors: kNegativeAnswer naming the pattern that no op has, or the op that nothing can fuse, and why.
Result<Plan> plan_with_fused_ops(const PlanningCase& planning_case, RestKind rest, int streams,
                                 const std::vector<std::string>& patterns,
                                 std::vector<std::string>* left_alone = nullptr);

/// Plans that choose_fusion() simulates at most.
inline constexpr std::size_t kMostFusions = 96;

struct FusionChoice {
  Plan plan;
  bool fuses = false;
  /// Where nothing is fused although ops could be: how much longer a step would take with the best of them fused.
  std::optional<Nanoseconds> would_cost;
  std::size_t simulated = 0;  ///< plans
};

/// The same with those ops fused that make the predicted step of the whole plan shortest; none where that is no longer.
/// Tried are VariantMaker::fusions(), then changes of one run or op to the best few as long as that is faster.
/// Errors: kInterrupted once `cancel`, which may be null, is cancelled; those of lower() where no plan is possible.
Result<FusionChoice> choose_fusion(const PlanningCase& planning_case, RestKind rest, int streams,
                                   const CancelToken* cancel = nullptr);

}  // namespace cohort
