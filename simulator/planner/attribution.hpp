#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {

/// Plans with the baseline's algorithms that walks have come by, each of which is predicted once.
class WalkPoints {
 public:
  struct Point {
    std::optional<Nanoseconds> time;  ///< absent where the plan cannot be
    Bytes memory;
  };
  /// That of a plan's fingerprint and the ratio which its ops take after, made by `make` where it is not known; another
  /// thread that asks for it meanwhile waits. It stays where it is.
  const Point& at(const std::string& fingerprint, double ratio, const std::function<Point()>& make);

 private:
  struct Known {
    std::once_flag once;
    Point point;
  };
  std::mutex guard_;
  std::map<std::pair<std::string, double>, Known> known_;
};

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
  /// `baseline`: members alone, with input made as its baselines say, else as `planning_case`'s base does. `points` are
  /// those of the same case and baseline, which several walks may share, on a thread each. All must outlive the walk.
  GainWalk(const PlanningCase& planning_case, PlanEvaluator& evaluator, const BaselinePrediction& baseline,
           WalkPoints& points);

  /// The times are the plan's own step time, with and without the host's part.
  Attribution explain(const Plan& plan, Nanoseconds with_overheads, Nanoseconds without_overheads);

 private:
  [[nodiscard]] Plan in_turn(const Plan& plan) const;
  [[nodiscard]] Plan only_fused(const Plan& plan) const;
  void add_fused(const Group& group, Plan& plan) const;
  std::optional<Nanoseconds> time_of(const Plan& plan);
  const WalkPoints::Point& point_of(const Plan& plan);

  const PlanningCase& case_;
  PlanEvaluator& evaluator_;
  const BaselinePrediction& baseline_;
  PreferredWays preferred_;
  WalkPoints& points_;
  std::vector<std::size_t> class_of_;  ///< by member
  double ratio_ = 1;                   ///< that ops take after, of the plan being explained
};

}  // namespace cohort
