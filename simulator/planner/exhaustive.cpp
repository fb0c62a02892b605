#include "simulator/planner/exhaustive.hpp"

#include <limits>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/variants.hpp"

namespace cohort {

Result<ExhaustiveSearch> search_exhaustively(const PlanningCase& planning_case, Objective objective, std::size_t most) {
  PlanEvaluator evaluator(planning_case);
  VariantMaker maker(planning_case, evaluator.times(), evaluator.footprint(planning_case.models));
  COHORT_TRY(const BaselinePrediction baseline, predict_baseline(planning_case));
  COHORT_TRY(const std::vector<Variant> variants, maker.all_variants(most));
  ExhaustiveSearch found{std::numeric_limits<double>::infinity(), 0};
  for (const Variant& variant : variants) {
    const auto evaluation = evaluator.evaluate(maker.plan_of(variant), planning_case.models);
    if (!evaluation && evaluation.error().code == ErrorCode::kDoesNotFit) continue;
    if (!evaluation) return tl::unexpected<Error>(evaluation.error());
    ++found.evaluated;
    found.least_cost = std::min(found.least_cost, objective_cost(objective, evaluation->prediction, baseline.alone));
  }
  if (found.evaluated == 0) return fail(ErrorCode::kDoesNotFit, "no plan is possible within the limits");
  return found;
}

}  // namespace cohort
