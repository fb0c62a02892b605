#include "simulator/plan_gain.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/member_classes.hpp"

namespace cohort {
namespace {

bool is_fused(const Group& group) {
  return group.strategy != Strategy::kSerial && group.strategy != Strategy::kConcurrent;
}

/// Everything of the plan in turn on one stream, nothing of it resolved.
Plan in_turn(const Plan& plan) {
  Plan serial = uniform_plan(plan.members, Strategy::kSerial, 1);
  serial.device = plan.device;
  serial.input = plan.input;
  serial.layout = plan.layout;
  serial.precision = plan.precision;
  serial.launch = plan.launch;
  serial.limits = plan.limits;
  return serial;
}

/// Groups that fuse the same ops of equal members, one for each stream, are one where there is one stream.
void add_fused(const Group& group, const std::vector<std::size_t>& class_of, Plan& plan) {
  const auto twin = std::find_if(plan.groups.begin(), plan.groups.end(), [&](const Group& other) {
    return other.strategy == group.strategy && other.ops == group.ops && !group.ops.empty() &&
           class_of[other.members.front()] == class_of[group.members.front()];
  });
  if (twin == plan.groups.end()) {
    plan.groups.push_back(group);
    plan.groups.back().streams.clear();
    plan.groups.back().after.clear();
    return;
  }
  twin->members.insert(twin->members.end(), group.members.begin(), group.members.end());
  std::sort(twin->members.begin(), twin->members.end());
}

/// Fused as the plan says, and all else in turn. No plan where a fused group takes whatever no other one names beside
/// others: then lowering refuses it.
Plan only_fused(const Plan& plan, std::span<const Model* const> models) {
  std::vector<std::size_t> class_of(models.size());
  const std::vector<MemberClass> classes = member_classes(models);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const std::uint32_t member : classes[i].members) class_of[member] = i;
  }

  Plan fused = in_turn(plan);
  Group rest = std::move(fused.groups.front());
  fused.groups.clear();
  for (const Group& group : plan.groups) {
    if (is_fused(group)) add_fused(group, class_of, fused);
  }
  // Members whose every op is fused have nothing left: the rest is of those that have other groups, too.
  const auto only_in_fused = [&](std::uint32_t member) {
    return std::none_of(plan.groups.begin(), plan.groups.end(), [&](const Group& group) {
      return !is_fused(group) && std::binary_search(group.members.begin(), group.members.end(), member);
    });
  };
  rest.members.erase(std::remove_if(rest.members.begin(), rest.members.end(), only_in_fused), rest.members.end());
  rest.name = "in turn";
  if (!rest.members.empty()) fused.groups.push_back(std::move(rest));
  return fused;
}

class Walk {
 public:
  Walk(const PlanningCase& planning_case, const PlanPrediction& predicted)
      : case_(planning_case), predicted_(predicted), evaluator_(case_) {
    case_.base = &predicted.plan;
    for (const Baseline& each : predicted.plan.baselines) {
      const Model& model = *case_.models[each.members.front()];
      for (const Op& op : model.ops) {
        const auto step = std::find_if(each.steps.begin(), each.steps.end(), [&](const ResolvedStep& resolved) {
          return std::string_view(resolved.task).substr(resolved.task.find('/') + 1) == op.name;
        });
        if (step != each.steps.end()) preferred_[signature_of(model, op)] = {step->algorithm, step->threads};
      }
    }
  }

  Result<Attribution> run() {
    COHORT_TRY(const Nanoseconds baseline, bare_baseline());
    const Plan& plan = predicted_.plan;
    COHORT_TRY(const Evaluation own, evaluator_.evaluate(plan, case_.models));
    COHORT_TRY(const Nanoseconds bare, evaluator_.without_overheads(plan, own.program));
    Attribution attribution;
    Nanoseconds last = baseline;
    const auto go_to = [&](std::optional<Nanoseconds> time, GainCause cause) {
      if (!time) return;
      attribution.of(cause) += last - *time;
      last = *time;
    };
    Plan at = in_turn(plan);
    at.input.sharing = InputSharing::kSeparate;
    go_to(time_of(at), GainCause::kOverlap);
    at.input.sharing = plan.input.sharing;
    go_to(time_of(at), GainCause::kSharing);
    if (std::any_of(plan.groups.begin(), plan.groups.end(), is_fused)) {
      go_to(time_of(only_fused(plan, case_.models)), GainCause::kFusion);
    }
    at = plan;
    at.resolved.reset();
    go_to(time_of(at), plan.streams > 1 ? GainCause::kOverlap : GainCause::kAlgorithmChoice);
    go_to(bare, GainCause::kAlgorithmChoice);
    const Nanoseconds step_time = predicted_.run.prediction.step_time;
    attribution.of(GainCause::kLaunchRemoval) = (predicted_.baseline - baseline) - (step_time - bare);
    return attribution;
  }

 private:
  /// Without the host's part; members that share a baseline take as long as each other.
  Result<Nanoseconds> bare_baseline() {
    const Plan& plan = predicted_.plan;
    std::map<const Baseline*, Nanoseconds> known;
    Nanoseconds sum{};
    for (std::uint32_t member = 0; member < plan.members.size(); ++member) {
      const auto baseline = std::find_if(plan.baselines.begin(), plan.baselines.end(), [&](const Baseline& each) {
        return std::find(each.members.begin(), each.members.end(), member) != each.members.end();
      });
      const Baseline* key = baseline == plan.baselines.end() ? nullptr : &*baseline;
      auto time = known.find(key);
      if (key == nullptr || time == known.end()) {
        const std::vector<const Model*> alone{case_.models[member]};
        const Plan one = baseline_plan(plan, member);
        COHORT_TRY(const Evaluation evaluation, evaluator_.evaluate(one, alone));
        COHORT_TRY(const Nanoseconds bare, evaluator_.without_overheads(one, evaluation.program));
        time = known.insert_or_assign(key, bare).first;
      }
      sum += time->second;
    }
    return sum;
  }

  /// With the baseline's algorithms; absent where the plan cannot be.
  std::optional<Nanoseconds> time_of(const Plan& plan) {
    ChoiceRule rule;
    rule.preferred = &preferred_;
    const Result<Evaluation> evaluation = evaluator_.evaluate(plan, case_.models, rule);
    if (!evaluation) return std::nullopt;
    const Result<Nanoseconds> time = evaluator_.without_overheads(plan, evaluation->program);
    return time ? std::optional(*time) : std::nullopt;
  }

  PlanningCase case_;
  const PlanPrediction& predicted_;
  PlanEvaluator evaluator_;
  PreferredWays preferred_;
};

}  // namespace

Result<Attribution> attribute_gain(const PlanningCase& planning_case, const PlanPrediction& predicted) {
  return Walk(planning_case, predicted).run();
}

}  // namespace cohort
