#include <algorithm>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/member_classes.hpp"
#include "simulator/planner/planner.hpp"

namespace cohort {
namespace {

std::vector<ResolvedStep> steps_of(const Plan& plan, const Program& program) {
  return resolve(plan, program, "").steps;
}

/// The step time if the helpers of every step on several cores had to be woken.
Nanoseconds cautious_time(const Evaluation& evaluation) {
  const std::vector<Step>& steps = evaluation.program.steps;
  const auto wide = std::count_if(steps.begin(), steps.end(), [](const Step& step) { return step.cost.threads > 1; });
  return evaluation.prediction.step_time + kWaking * wide;
}

/// Members that may share a baseline: of one class, with one source.
std::vector<std::vector<std::uint32_t>> equal_members(const PlanningCase& planning_case) {
  std::vector<std::vector<std::uint32_t>> groups;
  for (const MemberClass& members : member_classes(planning_case.models)) {
    std::vector<std::pair<ModelSource, std::vector<std::uint32_t>>> by_source;
    for (const std::uint32_t member : members.members) {
      const ModelSource& source = planning_case.base->members[member].source;
      const auto found =
          std::find_if(by_source.begin(), by_source.end(), [&](const auto& entry) { return entry.first == source; });
      if (found == by_source.end()) {
        by_source.push_back({source, {member}});
      } else {
        found->second.push_back(member);
      }
    }
    for (auto& [source, list] : by_source) groups.push_back(std::move(list));
  }
  return groups;
}

}  // namespace

Result<BaselinePrediction> predict_baseline(const PlanningCase& planning_case, const CancelToken* cancel) {
  PlanEvaluator evaluator(planning_case, cancel);
  Plan together = *planning_case.base;
  together.baselines.clear();
  together.limits.memory.reset();  // members run alone, one at a time
  BaselinePrediction result;
  result.alone.resize(planning_case.models.size());
  for (std::vector<std::uint32_t>& members : equal_members(planning_case)) {
    const std::vector<const Model*> alone{planning_case.models[members.front()]};
    Plan plan = baseline_plan(together, members.front());
    plan.limits.workspace = together.limits.workspace;
    std::optional<Evaluation> best;
    std::vector<std::optional<int>> threads{std::nullopt};
    if (planning_case.device.cores > 1) threads = {std::nullopt, 1, planning_case.device.cores};
    for (const std::optional<int> count : threads) {
      ChoiceRule rule;
      rule.threads = count;
      auto evaluation = evaluator.evaluate(plan, alone, rule);
      if (!evaluation) return in_context("baseline", evaluation.error());
      if (!best || cautious_time(*evaluation) < cautious_time(*best)) best = std::move(*evaluation);
    }
    COHORT_TRY(const Nanoseconds bare, evaluator.without_overheads(plan, best->program));
    const auto count = static_cast<std::int64_t>(members.size());
    result.step_time += best->prediction.step_time * count;
    result.without_overheads += bare * count;
    for (const std::uint32_t member : members) result.alone[member] = best->prediction.step_time;
    result.baselines.push_back({std::move(members), steps_of(plan, best->program)});
  }
  return result;
}

}  // namespace cohort
