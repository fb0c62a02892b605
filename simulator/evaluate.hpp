#pragma once

#include <cstddef>
#include <span>

#include "simulator/choose.hpp"
#include "simulator/planner.hpp"

namespace cohort {

struct Evaluation {
  Program program;
  Prediction prediction;
};

/// Lowers and predicts plans, choosing algorithms by recorded cost.
class PlanEvaluator {
 public:
  explicit PlanEvaluator(const PlanningCase& planning_case);

  /// Where a limit is exceeded, smaller workspaces are tried before the plan is refused.
  /// `rule` says what beside cost decides; its footprint and neighbours are filled in.
  Result<Evaluation> evaluate(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule = {});
  /// The step time without what steps, launches and hand-offs cost the host.
  Result<Nanoseconds> without_overheads(const Plan& plan, const Program& program) const;

  [[nodiscard]] PredictionCase prediction_case(const Plan& plan, const Program& program) const;
  [[nodiscard]] CallTimes& times() { return times_; }
  /// About what members touch in one step: all weights and the largest op's operands.
  [[nodiscard]] Bytes footprint(std::span<const Model* const> models);

 private:
  const PlanningCase& case_;
  CallTimes times_;
  std::map<const Model*, std::pair<Bytes, Bytes>> sizes_;  ///< weights, largest operands
};

}  // namespace cohort
