#include "simulator/evaluate.hpp"

#include <algorithm>

namespace cohort {

PlanEvaluator::PlanEvaluator(const PlanningCase& planning_case) : case_(planning_case), times_(*planning_case.costs) {}

PredictionCase PlanEvaluator::prediction_case(const Plan& plan, const Program& program) const {
  return {&plan, &program, case_.costs, case_.device, true};
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

Result<Evaluation> PlanEvaluator::evaluate(const Plan& plan, std::span<const Model* const> models, ChoiceRule rule) {
  rule.footprint = footprint(models);
  rule.neighbours = std::clamp(plan.streams, 1, case_.device.cores) - 1;
  const auto attempt = [&](const ChoiceRule& how) {
    return lower(plan, models, *case_.catalog, choose_by_cost(times_, how));
  };
  Result<Program> program = attempt(rule);
  if (!program && program.error().code == ErrorCode::kDoesNotFit && plan.limits.workspace) {
    // Workspaces that run side by side cannot share bytes; each stream gets its part.
    rule.workspace = Bytes{plan.limits.workspace->value / plan.streams};
    program = attempt(rule);
  }
  if (!program && program.error().code == ErrorCode::kDoesNotFit) {
    rule.least_workspace = true;
    program = attempt(rule);
  }
  if (!program) return tl::unexpected<Error>(std::move(program).error());
  COHORT_TRY(Prediction prediction, predict(prediction_case(plan, *program)));
  return Evaluation{std::move(*program), std::move(prediction)};
}

Result<Nanoseconds> PlanEvaluator::without_overheads(const Plan& plan, const Program& program) const {
  PredictionCase bare = prediction_case(plan, program);
  bare.with_overheads = false;
  COHORT_TRY(const Prediction prediction, predict(bare));
  return prediction.step_time;
}

}  // namespace cohort
