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

namespace {

Result<BaselineTimes> times_of(PlanEvaluator& evaluator, const Plan& plan, std::span<const Model* const> models) {
  COHORT_TRY(const Evaluation evaluation, evaluator.evaluate(plan, models));
  COHORT_TRY(const Nanoseconds bare, evaluator.without_overheads(plan, evaluation.program));
  return BaselineTimes{evaluation.prediction.step_time, bare};
}

}  // namespace

Result<BaselineTimes> baseline_times(PlanEvaluator& evaluator, const PlanningCase& planning_case, const Plan& plan) {
  if (runs_in_turn(plan)) {
    auto all = times_of(evaluator, in_turn_plan(plan), planning_case.models);
    if (!all) return in_context("baseline", all.error());
    return all;
  }
  std::vector<std::size_t> baseline_of(plan.members.size(), plan.baselines.size());
  for (std::size_t i = 0; i < plan.baselines.size(); ++i) {
    for (const std::uint32_t member : plan.baselines[i].members) baseline_of[member] = i;
  }
  std::map<std::pair<std::size_t, const Model*>, BaselineTimes> known;
  BaselineTimes sum;
  for (std::uint32_t member = 0; member < plan.members.size(); ++member) {
    const auto [place, is_new] = known.try_emplace({baseline_of[member], planning_case.models[member]});
    if (is_new) {
      const std::vector<const Model*> alone{planning_case.models[member]};
      auto one = times_of(evaluator, baseline_plan(plan, member), alone);
      if (!one) return in_context(fmt::format("baseline of member {}", plan.members[member].name), one.error());
      place->second = *one;
    }
    sum.step_time += place->second.step_time;
    sum.without_overheads += place->second.without_overheads;
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
    COHORT_TRY(const BaselineTimes times, baseline_times(evaluator, own, plan));
    baseline = times.step_time;
  }
  return predict_lowered(evaluator, own, std::move(predicted), lowered.program, baseline, device);
}

}  // namespace cohort
