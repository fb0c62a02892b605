#pragma once

#include <optional>
#include <vector>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Steps of a program in which nothing is fused up to which plans are looked for among all members. Beyond, what is
/// best of some of the members is, too, of all of them: each more is one more of a row that has begun.
inline constexpr std::size_t kMostSearchedSteps = 4'000;

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

/// The part of a search that a program of so many steps leaves time for: 1 up to kMostSearchedSteps.
double searched_part(const PlanningCase& planning_case);

}  // namespace cohort
