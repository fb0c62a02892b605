#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/planner/evaluate.hpp"

namespace cohort {

/// Why candidates were refused, and which limits would have let one through.
class Refusals {
 public:
  /// The first one's error stands for all.
  void add(Error why);
  /// That does not fit the limits.
  void add_too_large(Plan plan) { too_large_.push_back(std::move(plan)); }
  /// Longer than the limit of the latency.
  void add_too_slow(Nanoseconds latency);

  /// What to say where nothing was possible, with the least memory or latency of any plan that was tried.
  [[nodiscard]] Error no_plan(PlanEvaluator& evaluator, std::span<const Model* const> models) const;

 private:
  [[nodiscard]] std::optional<Bytes> least_memory(PlanEvaluator& evaluator, std::span<const Model* const> models) const;

  std::optional<Error> first_;
  std::vector<Plan> too_large_;
  std::optional<Nanoseconds> least_latency_;
};

}  // namespace cohort
