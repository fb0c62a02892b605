#pragma once

#include <optional>
#include <vector>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Steps of a program in which nothing is fused up to which plans are looked for among all members. Beyond, what is
/// best of some of the members is, too, of all of them: each more is one more of a row that has begun.
inline constexpr std::size_t kMostSearchedSteps = 1'000;
/// Steps up to which a search looks at as much as it may.
inline constexpr std::size_t kMostUnhurriedSteps = 4'000;

/// Some of a case's members, of each class in proportion, for which plans are looked for instead.
class FewMembers {
 public:
  /// Absent where the case is small enough, or where its limits, its latencies or its input depend on all members.
  static std::optional<FewMembers> of(const PlanningCase& planning_case, const PlannerOptions& options);

  /// Refers to this and to what the whole case refers to.
  [[nodiscard]] PlanningCase planning_case() const;

 private:
  explicit FewMembers(const PlanningCase& whole) : whole_(whole) {}

  PlanningCase whole_;
  Plan base_;
  std::vector<const Model*> models_;
};

/// Plans of some members that are simulated with all of them, at most.
inline constexpr std::size_t kBestOfFew = 4;

/// How many of the best of few are worth simulating with all: of very many members, the first and what comes close.
std::size_t worth_trying(const PlanningResult& of_few, const PlanningCase& planning_case);

/// The parts of a candidate's gain, in proportion to those that the plan of its name has of some of the members. Absent
/// where none of them is explained, or where all gain by another factor than their number: then they have to be found.
std::optional<Attribution> gain_as_of_few(const PlanningResult& of_few, const PlanCandidate& candidate,
                                          const BaselinePrediction& baseline);

/// The part of a search that a program of so many steps leaves time for: 1 up to kMostUnhurriedSteps.
double searched_part(const PlanningCase& planning_case);

}  // namespace cohort
