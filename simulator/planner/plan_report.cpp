#include "simulator/planner/plan_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "simulator/planner/attribution.hpp"
#include "simulator/planner/evaluate.hpp"

namespace cohort {
namespace {

using namespace std::chrono_literals;

BatchMemory memory_of(const MemoryUse& use, const PlanningCase& planning_case, const DeviceInfo& device) {
  BatchMemory memory;
  memory.weights = use.weights;
  memory.activations = use.activations;
  memory.workspace = use.workspace;
  memory.step = use.activations + use.workspace;
  memory.input = use.input;
  if (device.memory.value > 0) memory.device = device.memory;
  if (planning_case.gpu != nullptr) memory.device = planning_case.gpu->profile().memory;
  return memory;
}

void add_doubts(const PlanningCase& planning_case, const Prediction& prediction, const DeviceInfo& device,
                PlanReport& report) {
  const auto say = [&](bool holds, bool grave, std::string why) {
    if (holds) report.doubts.push_back({grave, std::move(why)});
  };
  const bool on_gpu = planning_case.gpu != nullptr;
  const std::size_t analytic = prediction.steps(CostOrigin::kAnalytic);
  const std::size_t interpolated = prediction.steps(CostOrigin::kInterpolated);
  std::size_t all = 0;
  for (const std::size_t count : prediction.origins) all += count;
  constexpr std::size_t kFew = 20;  // one op in so many leaves a prediction as it is
  say(analytic > 0, analytic * kFew > all,
      fmt::format("{} fused ops were never recorded: width times the single op", analytic));
  const CostTable& costs = *planning_case.costs;
  say(!costs.lacking().empty(), false, fmt::format("the profile did not time: {}", costs.lacking()));
  constexpr double kMostUnexplained = 0.05;
  say(costs.unexplained() > kMostUnexplained, true,
      fmt::format("the profile does not add up: {:.0f}% of a step is not in its ops", 100 * costs.unexplained()));
  say(interpolated > 0, false, fmt::format("{} ops are between recorded widths or sizes", interpolated));
  say(device.kind == "cuda" && !on_gpu, true,
      fmt::format("no figures of device \"{}\": streams do not slow each other, launches cost nothing", device.name));
  if (on_gpu) report.doubt_contention("what calls use of pipes and memory is taken from their shapes");
  constexpr Nanoseconds kShort = 100us;
  say(!on_gpu && report.step_time < kShort, false,
      "a step under 100 us varies from run to run by more than a prediction can follow");
  report.doubt_memory();
  report.sort_doubts();
}

Result<WorkspaceRules> compare_rules(const PlanningCase& planning_case, const PlanReport& report) {
  const auto way_of = [](const Prediction& prediction) {
    return WorkspaceRules::Way{prediction.step_time, prediction.memory.workspace};
  };
  WorkspaceRules rules;
  rules.limit = *report.plan.limits.workspace;
  rules.whole_batch = {report.step_time, report.memory.workspace.value_or(Bytes{})};
  PlanEvaluator evaluator(planning_case);
  Plan plan = report.plan;
  plan.resolved.reset();
  Plan free = plan;
  free.limits.workspace.reset();
  COHORT_TRY(const Evaluation unlimited, evaluator.evaluate(free, planning_case.models));
  rules.unlimited = way_of(unlimited.prediction);
  const Result<Prediction> shares = evaluator.with_equal_shares(plan, planning_case.models);
  if (shares) {
    rules.equal_shares = way_of(*shares);
  } else {
    rules.refused = shares.error().message;
  }
  return rules;
}

}  // namespace

Result<PlanReport> report_plan(const PlanningCase& planning_case, const Plan& plan, const DeviceInfo& device) {
  COHORT_TRY(PlanPrediction predicted, predict_plan(planning_case, plan, device));
  const Prediction& prediction = predicted.run.prediction;
  PlanReport report;
  report.members = plan.members.size();
  report.baseline = predicted.baseline;
  report.step_time = prediction.step_time;
  report.speedup = predicted.speedup;
  report.samples_per_second = prediction.samples_per_second;
  report.lower_bound = prediction.lower_bound;
  report.upper_bound = prediction.upper_bound;
  report.binding = prediction.binding;
  COHORT_TRY(const Attribution gain, attribute_gain(planning_case, predicted));
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    if (gain.saved[i] == Nanoseconds(0)) continue;
    report.gain.push_back({std::string(to_string(static_cast<GainCause>(i))), gain.saved[i]});
  }
  PlanningCase own = planning_case;
  own.base = &predicted.plan;
  PlanEvaluator evaluator(own);
  COHORT_TRY(const LoweredPlan lowered, evaluator.lowered(predicted.plan, own.models));
  COHORT_TRY(const ContentionBracket bracket,
             contention_bracket(evaluator.prediction_case(predicted.plan, lowered.program), prediction));
  report.without_contention = bracket.without;
  report.kernels_in_turn = bracket.in_turn;
  report.facts = std::move(predicted.run.facts);
  report.memory = memory_of(prediction.memory, planning_case, device);
  report.plan = std::move(predicted.plan);
  add_doubts(planning_case, prediction, device, report);
  if (report.plan.limits.workspace) {
    own.base = &report.plan;
    COHORT_TRY(report.workspace, compare_rules(own, report));
  }
  report.trace = std::move(predicted.run.trace);
  return report;
}

}  // namespace cohort
