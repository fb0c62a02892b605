#include "simulator/planner/planner.hpp"

#include <map>
#include <utility>

#include "simulator/planner/plan_prediction.hpp"
#include "simulator/planner/search.hpp"
#include "simulator/planner/uncertainty.hpp"

namespace cohort {
std::string_view to_string(GainCause cause) {
  switch (cause) {
    case GainCause::kSharing:
      return "sharing";
    case GainCause::kLaunchRemoval:
      return "launch removal";
    case GainCause::kOverlap:
      return "overlap";
    case GainCause::kFusion:
      return "fusion";
    case GainCause::kAlgorithmChoice:
      return "algorithm choice";
  }
  return "";
}

Result<void> check_case(const PlanningCase& planning_case) {
  const std::size_t members = planning_case.base->members.size();
  if (members == 0) return fail(ErrorCode::kInvalidInput, "members is empty: a plan runs at least one model");
  if (members != planning_case.models.size()) {
    return fail(ErrorCode::kInvalidInput, "{} models were given for {} members", planning_case.models.size(), members);
  }
  return validate(planning_case.device);
}

Result<Nanoseconds> baseline_time(PlanEvaluator& evaluator, const PlanningCase& planning_case, const Plan& plan) {
  if (runs_in_turn(plan)) {
    auto all = evaluator.evaluate(in_turn_plan(plan), planning_case.models);
    if (!all) return in_context("baseline", all.error());
    return all->prediction.step_time;
  }
  std::vector<std::size_t> baseline_of(plan.members.size(), plan.baselines.size());
  for (std::size_t i = 0; i < plan.baselines.size(); ++i) {
    for (const std::uint32_t member : plan.baselines[i].members) baseline_of[member] = i;
  }
  std::map<std::pair<std::size_t, const Model*>, Nanoseconds> known;
  Nanoseconds sum{};
  for (std::uint32_t member = 0; member < plan.members.size(); ++member) {
    const auto [place, is_new] = known.try_emplace({baseline_of[member], planning_case.models[member]});
    if (is_new) {
      const std::vector<const Model*> alone{planning_case.models[member]};
      auto one = evaluator.evaluate(baseline_plan(plan, member), alone);
      if (!one) return in_context(fmt::format("baseline of member {}", plan.members[member].name), one.error());
      place->second = one->prediction.step_time;
    }
    sum += place->second;
  }
  return sum;
}

Result<PlanningResult> plan_model_batch(const PlanningCase& planning_case, const PlannerOptions& options) {
  COHORT_CHECK(check_case(planning_case));
  return search_plans(planning_case, options);
}

Result<PlanPrediction> predict_lowered(const PlanEvaluator& evaluator, const PlanningCase& planning_case, Plan plan,
                                       const Program& program, Nanoseconds baseline, const DeviceInfo& device) {
  PlanPrediction result;
  result.baseline = baseline;
  result.plan = std::move(plan);
  if (!result.plan.resolved || result.plan.resolved->fingerprint != fingerprint(result.plan)) {
    result.plan.resolved = evaluator.resolved(result.plan, program);
  }
  result.plan.resolved->core_round_trip = planning_case.device.core_round_trip;  // of the profile it is predicted from
  COHORT_TRY(result.run, predict_run(evaluator.prediction_case(result.plan, program), device));
  result.run.trace.info.wall_times.push_back({"baseline", {result.baseline}, 0});
  if (result.run.prediction.step_time > Nanoseconds(0)) {
    result.speedup = seconds(result.baseline) / seconds(result.run.prediction.step_time);
  }
  result.interval = speedup_interval(planning_case, result.plan, result.run.prediction, result.speedup);
  return result;
}

Result<PlanPrediction> predict_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device) {
  COHORT_CHECK(check_case(planning_case));
  PlanningCase own = planning_case;
  own.base = &plan;
  PlanEvaluator evaluator(own);
  COHORT_TRY(const LoweredPlan lowered, evaluator.lowered(plan, own.models));
  Plan predicted = plan;
  Nanoseconds baseline{};
  if (plan.baselines.empty()) {
    COHORT_TRY(BaselinePrediction found, predict_baseline(own));
    baseline = found.step_time;
    predicted.baselines = std::move(found.baselines);
  } else {
    COHORT_TRY(baseline, baseline_time(evaluator, own, plan));
  }
  return predict_lowered(evaluator, own, std::move(predicted), lowered.program, baseline, device);
}

}  // namespace cohort
