#include "planning/needed_calls.hpp"

#include <algorithm>
#include <utility>

#include "simulator/costs/step_cost.hpp"
#include "simulator/planner/evaluate.hpp"

namespace cohort {
namespace {

/// Of the op in its model: what a profile of any precision times it by, for all of a device or a part of it.
std::string signature_of_step(const PlanningCase& planning_case, const Step& step) {
  const Model& model = *planning_case.models[to_index(step.members.front())];
  const auto op =
      std::find_if(model.ops.begin(), model.ops.end(), [&](const Op& other) { return other.name == step.op; });
  return op == model.ops.end() ? step.cost.signature : signature_of(model, *op);
}

}  // namespace

Result<std::vector<WantedCase>> needed_calls(const PlanningCase& planning_case, const Plan& plan) {
  PlanEvaluator evaluator(planning_case);
  COHORT_TRY(const LoweredPlan lowered, evaluator.lowered(plan, planning_case.models));
  COHORT_TRY(const std::vector<StepCost> costs,
             step_costs(lowered.program, *planning_case.costs, planning_case.device.cores));
  std::vector<WantedCase> wanted;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const Step& step = lowered.program.steps[i];
    const CostKey& key = step.cost;
    if (costs[i].alone.origin == CostOrigin::kProfiled || key.signature.starts_with(kCopyPrefix)) continue;
    if (!step.call.parts.empty()) continue;  // of several ops: no op alone stands for it
    WantedCase each;
    each.signature = signature_of_step(planning_case, step);
    // What is asked for: products that share their input are one wide product, whatever their call is then named.
    each.op_case.strategy = plan.groups[step.group].strategy;
    each.op_case.width = key.width;
    each.op_case.threads = key.threads;
    each.op_case.algorithm = key.algorithm;
    each.op_case.multiprocessors = plan.groups[step.group].multiprocessors;
    each.op_case.shared_input = plan.input.sharing == InputSharing::kShared;
    if (std::find(wanted.begin(), wanted.end(), each) == wanted.end()) wanted.push_back(std::move(each));
  }
  return wanted;
}

}  // namespace cohort
