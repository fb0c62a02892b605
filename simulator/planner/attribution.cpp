#include "simulator/planner/attribution.hpp"

#include <utility>

namespace cohort {

AttributionWalk::AttributionWalk(const PlanningCase& planning_case, PlanEvaluator& evaluator, VariantMaker& maker,
                                 const BaselinePrediction& baseline)
    : case_(planning_case), evaluator_(evaluator), maker_(maker), baseline_(baseline) {
  for (const Baseline& each : baseline.baselines) {
    const Model& model = *case_.models[each.members.front()];
    std::map<std::string, const ResolvedStep*> by_op;
    for (const ResolvedStep& step : each.steps) by_op[step.task.substr(step.task.find('/') + 1)] = &step;
    for (const Op& op : model.ops) {
      const auto found = by_op.find(op.name);
      if (found == by_op.end()) continue;
      preferred_[signature_of(model, op)] = {found->second->algorithm, found->second->threads};
    }
  }
}

std::optional<Nanoseconds> AttributionWalk::time_of(const Variant& variant) {
  const Plan plan = maker_.plan_of(variant);
  const auto [place, is_new] = known_.try_emplace(fingerprint(plan));
  if (is_new) {
    ChoiceRule rule;
    rule.preferred = &preferred_;
    if (const Result<Evaluation> evaluation = evaluator_.evaluate(plan, case_.models, rule)) {
      if (const auto time = evaluator_.without_overheads(plan, evaluation->program)) place->second = *time;
    }
  }
  return place->second;
}

Attribution AttributionWalk::explain(const Variant& variant, Nanoseconds with_overheads,
                                     Nanoseconds without_overheads) {
  Attribution attribution;
  Nanoseconds last = baseline_.without_overheads;
  const auto go_to = [&](std::optional<Nanoseconds> time, GainCause cause) {
    if (!time) return;
    attribution.of(cause) += last - *time;
    last = *time;
  };
  Variant at{{}, RestKind::kSerialBest, 1, InputSharing::kSeparate, variant.launch, input_setting(*case_.base)};
  go_to(time_of(at), GainCause::kOverlap);
  at.sharing = variant.sharing;
  go_to(time_of(at), GainCause::kSharing);
  at.input = variant.input;
  go_to(time_of(at), GainCause::kOverlap);
  at.fused = variant.fused;
  at.grouped = variant.grouped;
  go_to(time_of(at), GainCause::kFusion);
  const bool concurrent = variant.rest == RestKind::kConcurrent || variant.rest == RestKind::kBranches;
  go_to(time_of(variant), concurrent ? GainCause::kOverlap : GainCause::kAlgorithmChoice);
  go_to(without_overheads, GainCause::kAlgorithmChoice);
  attribution.of(GainCause::kLaunchRemoval) =
      (baseline_.step_time - baseline_.without_overheads) - (with_overheads - without_overheads);
  return attribution;
}

}  // namespace cohort
