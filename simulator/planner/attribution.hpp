#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Splits the difference between members alone and a plan by walking from one to the other:
///
///     alone -> together, in turn -> input shared -> input settings -> fused groups -> streams -> own algorithms
///           overlap             sharing         overlap           fusion          overlap    algorithm choice
///
/// with the baseline's algorithms until the last step. What steps, launches and hand-offs cost the host is left out of
/// the walk; how it differs between both ends is launch removal. The parts add up to the whole. A point of the walk
/// that cannot be, or that a limit forbids, is stepped over.
class GainWalk {
 public:
  /// `baseline`: members alone, with input made as its baselines say, else as `planning_case`'s base does. All must
  /// outlive the walk.
  GainWalk(const PlanningCase& planning_case, PlanEvaluator& evaluator, const BaselinePrediction& baseline);

  /// The times are the plan's own step time, with and without the host's part.
  Attribution explain(const Plan& plan, Nanoseconds with_overheads, Nanoseconds without_overheads);

 private:
  [[nodiscard]] Plan in_turn(const Plan& plan) const;
  [[nodiscard]] Plan only_fused(const Plan& plan) const;
  void add_fused(const Group& group, Plan& plan) const;
  /// A plan with the baseline's algorithms; no time where it cannot be.
  struct Point {
    std::optional<Nanoseconds> time;
    Bytes memory;
  };
  std::optional<Nanoseconds> time_of(const Plan& plan);
  const Point& point_of(const Plan& plan);

  const PlanningCase& case_;
  PlanEvaluator& evaluator_;
  const BaselinePrediction& baseline_;
  PreferredWays preferred_;
  std::vector<std::size_t> class_of_;                      ///< by member
  double ratio_ = 1;                                       ///< that ops take after, of the plan being explained
  std::map<std::pair<std::string, double>, Point> known_;  ///< by plan's fingerprint, and that ratio
};

/// What the members of a plan take one after another, as its baselines have them, without the host's part.
/// Errors: those of PlanEvaluator::lowered().
Result<Nanoseconds> bare_baseline(const PlanningCase& planning_case, PlanEvaluator& evaluator, const Plan& plan);

}  // namespace cohort
