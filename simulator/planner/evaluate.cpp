#include "simulator/planner/evaluate.hpp"

#include <algorithm>

#include "simulator/planner/learned_ratios.hpp"

namespace cohort {

PlanEvaluator::PlanEvaluator(const PlanningCase& planning_case, const CancelToken* cancel)
    : case_(planning_case), catalog_(*planning_case.catalog, cancel), cancel_(cancel), times_(*planning_case.costs) {}

void PlanEvaluator::set_cancel(const CancelToken* cancel) {
  cancel_ = cancel;
  catalog_.set_cancel(cancel);
}

PredictionCase PlanEvaluator::prediction_case(const Plan& plan, const Program& program) const {
  const double own = held_ratio_ || case_.learned == nullptr ? 1 : case_.learned->of(plan);
  const double scale = held_ratio_.value_or(own);
  return {&plan, &program, case_.costs, case_.device, true, case_.gpu, scale};
}

Resolved PlanEvaluator::resolved(const Plan& plan, const Program& program) const {
  Resolved resolved = resolve(plan, program, case_.device.device);
  resolved.core_round_trip = case_.device.core_round_trip;
  return resolved;
}

Bytes PlanEvaluator::footprint(std::span<const Model* const> models) {
  Bytes weights;
  Bytes largest;
  for (const Model* model : models) {
    const auto [place, is_new] = sizes_.try_emplace(model);
    if (is_new) {
      for (const Op& op : model->ops) {
        const OpWork work = work_of(*model, op);
        place->second.first += work.parameters;
        place->second.second = std::max(place->second.second, work.read + work.written - work.parameters);
      }
    }
    weights += place->second.first;
    largest = std::max(largest, place->second.second);
  }
  return weights + largest;
}

void PlanEvaluator::fill_in(const Plan& plan, std::span<const Model* const> models, ChoiceRule& rule) {
  rule.footprint = footprint(models);
  rule.neighbours = std::clamp(plan.streams, 1, case_.device.cores) - 1;
}

Result<WorkspaceChoices> PlanEvaluator::choices_of(const Plan& plan, std::span<const Model* const> models,
                                                   ChoiceRule rule) {
  fill_in(plan, models, rule);
  return WorkspaceChoices::of(plan, models, catalog_, times_, rule);
}

Result<LoweredPlan> PlanEvaluator::lowered(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule) {
  fill_in(plan, models, rule);
  Result<Program> program = lower(plan, models, catalog_, choose_by_cost(times_, rule));
  const bool limited = !program && program.error().code == ErrorCode::kDoesNotFit;
  if (limited) {
    COHORT_TRY(const WorkspaceChoices choices, choices_of(plan, models, rule));
    program = lower_within_limits(plan, models, catalog_, choices, WorkspaceRule::kWholeBatch);
  }
  if (!program) return tl::unexpected<Error>(std::move(program).error());
  return LoweredPlan{std::move(*program), limited};
}

Result<Evaluation> PlanEvaluator::evaluate(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule) {
  COHORT_TRY(LoweredPlan made, lowered(plan, models, rule));
  if (cancel_ != nullptr) COHORT_CHECK(cancel_->check());
  COHORT_TRY(Prediction prediction, predict(prediction_case(plan, made.program)));
  return Evaluation{std::move(made), std::move(prediction)};
}

Result<Prediction> PlanEvaluator::with_equal_shares(const Plan& plan, std::span<const Model* const> models) {
  COHORT_TRY(const WorkspaceChoices choices, choices_of(plan, models, {}));
  COHORT_TRY(const Program program, lower_within_limits(plan, models, catalog_, choices, WorkspaceRule::kEqualShares));
  return predict(prediction_case(plan, program));
}

Result<std::vector<Evaluation>> PlanEvaluator::tradeoffs(const Plan& plan, std::span<const Model* const> models,
                                                         std::size_t most) {
  COHORT_TRY(const WorkspaceChoices choices, choices_of(plan, models, {}));
  const std::size_t count = choices.frontier().choices.size();
  const std::size_t shown = std::min(most, count);
  std::vector<Evaluation> found;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t place = shown == 1 ? count - 1 : i * (count - 1) / (shown - 1);
    Result<Program> program = lower(plan, models, catalog_, choices.choose(place));
    if (!program && program.error().code == ErrorCode::kDoesNotFit) continue;
    if (!program) return tl::unexpected<Error>(std::move(program).error());
    COHORT_TRY(Prediction prediction, predict(prediction_case(plan, *program)));
    found.push_back({{std::move(*program), true}, std::move(prediction)});
  }
  return found;
}

Result<Nanoseconds> PlanEvaluator::without_overheads(const Plan& plan, const Program& program) const {
  PredictionCase bare = prediction_case(plan, program);
  bare.with_overheads = false;
  if (cancel_ != nullptr) COHORT_CHECK(cancel_->check());
  COHORT_TRY(const Prediction prediction, predict(bare));
  return prediction.step_time;
}

}  // namespace cohort
