#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "simulator/planner/choose.hpp"
#include "simulator/planner/fit_workspace.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/planner/remembered_catalog.hpp"

namespace cohort {

struct LoweredPlan {
  Program program;
  bool limited = false;  ///< its fastest ways do not fit the limits
};

struct Evaluation : LoweredPlan {
  Prediction prediction;
};

/// Lowers and predicts plans, choosing algorithms by recorded cost. What it does fails with kInterrupted once
/// `cancel`, which may be null, is cancelled.
class PlanEvaluator {
 public:
  explicit PlanEvaluator(const PlanningCase& planning_case, const CancelToken* cancel = nullptr);

  /// For what follows.
  void set_cancel(const CancelToken* cancel);
  [[nodiscard]] const CancelToken* cancel() const { return cancel_; }

  /// Where a limit is exceeded, workspace is handed out over the whole model batch (lower_within_limits()) before the
  /// plan is refused. `rule` says what beside cost decides; its footprint and neighbours are filled in.
  Result<LoweredPlan> lowered(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule = {});
  /// The plan lowered, and predicted.
  Result<Evaluation> evaluate(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule = {});
  /// The same plan with a limit divided among its members, as in ModelBatch's paper.
  Result<Prediction> with_equal_shares(const Plan& plan, std::span<const Model* const> models);
  /// The plan in its fastest ways, in its smallest, and between; at most `most`, within its limits.
  Result<std::vector<Evaluation>> tradeoffs(const Plan& plan, std::span<const Model* const> models, std::size_t most);
  /// The step time without what steps, launches and hand-offs cost the host.
  Result<Nanoseconds> without_overheads(const Plan& plan, const Program& program) const;

  /// What lowering chose, and on what device as it was profiled.
  [[nodiscard]] Resolved resolved(const Plan& plan, const Program& program) const;

  /// From here on every plan takes after `ratio` (LearnedRatios::of()) instead of its own; nothing: its own again.
  void hold_ratio(std::optional<double> ratio) { held_ratio_ = ratio; }

  [[nodiscard]] PredictionCase prediction_case(const Plan& plan, const Program& program) const;
  [[nodiscard]] CallTimes& times() { return times_; }
  /// About what members touch in one step: all weights and the largest op's operands.
  [[nodiscard]] Bytes footprint(std::span<const Model* const> models);

 private:
  void fill_in(const Plan& plan, std::span<const Model* const> models, ChoiceRule& rule);
  Result<WorkspaceChoices> choices_of(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule);

  const PlanningCase& case_;
  RememberedCatalog catalog_;
  const CancelToken* cancel_;
  CallTimes times_;
  std::optional<double> held_ratio_;
  std::map<const Model*, std::pair<Bytes, Bytes>> sizes_;  ///< weights, largest operands
};

}  // namespace cohort
