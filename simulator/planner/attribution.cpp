#include "simulator/planner/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "simulator/plan/member_classes.hpp"
#include "simulator/planner/learned_ratios.hpp"

namespace cohort {

const WalkPoints::Point& WalkPoints::at(const std::string& fingerprint, double ratio,
                                        const std::function<Point()>& make) {
  Known* known = nullptr;
  {
    const std::lock_guard lock(guard_);
    known = &known_[{fingerprint, ratio}];
  }
  std::call_once(known->once, [&] { known->point = make(); });
  return known->point;
}

GainWalk::GainWalk(const PlanningCase& planning_case, PlanEvaluator& evaluator, const BaselinePrediction& baseline,
                   WalkPoints& points)
    : case_(planning_case),
      evaluator_(evaluator),
      baseline_(baseline),
      points_(points),
      class_of_(planning_case.models.size()) {
  const std::vector<MemberClass> classes = member_classes(case_.models);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const std::uint32_t member : classes[i].members) class_of_[member] = i;
  }
  for (const Baseline& each : baseline.baselines) {
    const Model& model = *case_.models[each.members.front()];
    std::map<std::string, const ResolvedStep*> by_op;
    for (const ResolvedStep& step : each.steps) by_op[step.task.substr(step.task.find('/') + 1)] = &step;
    for (const Op& op : model.ops) {
      const auto found = by_op.find(op.name);
      if (found == by_op.end()) continue;
      preferred_[signature_in(case_.base->precision, signature_of(model, op))] = {found->second->algorithm,
                                                                                  found->second->threads};
    }
  }
}

/// Everything of the plan in turn on one stream, nothing of it resolved; input made as for members alone.
Plan GainWalk::in_turn(const Plan& plan) const {
  Plan serial = uniform_plan(plan.members, Strategy::kSerial, 1);
  serial.device = plan.device;
  serial.input = plan.input;
  const auto& baselines = baseline_.baselines;
  const bool is_known = !baselines.empty() && baselines.front().input;
  set_input_setting(is_known ? *baselines.front().input : input_setting(*case_.base), serial);
  serial.layout = plan.layout;
  serial.precision = plan.precision;
  serial.launch = plan.launch;
  serial.limits = plan.limits;
  return serial;
}

/// Groups that fuse the same ops of equal members, one for each stream, are one where there is one stream. Their names
/// say nothing of streams either, so that plans which differ in those alone are one point of the walk.
void GainWalk::add_fused(const Group& group, Plan& plan) const {
  const auto twin = std::find_if(plan.groups.begin(), plan.groups.end(), [&](const Group& other) {
    return other.strategy == group.strategy && other.ops == group.ops && !group.ops.empty() &&
           class_of_[other.members.front()] == class_of_[group.members.front()];
  });
  if (twin == plan.groups.end()) {
    plan.groups.push_back(group);
    plan.groups.back().name = fmt::format("fused {}", plan.groups.size());
    plan.groups.back().streams.clear();
    plan.groups.back().after.clear();
    return;
  }
  twin->members.insert(twin->members.end(), group.members.begin(), group.members.end());
  std::sort(twin->members.begin(), twin->members.end());
}

/// Fused as the plan says, and all else in turn. No plan where a fused group takes whatever no other one names beside
/// others: then lowering refuses it.
Plan GainWalk::only_fused(const Plan& plan) const {
  Plan fused = in_turn(plan);
  fused.input = plan.input;
  Group rest = std::move(fused.groups.front());
  fused.groups.clear();
  for (const Group& group : plan.groups) {
    if (is_fused(group.strategy)) add_fused(group, fused);
  }
  // Members whose every op is fused have nothing left: the rest is of those that have other groups, too.
  const auto only_in_fused = [&](std::uint32_t member) {
    return std::none_of(plan.groups.begin(), plan.groups.end(), [&](const Group& group) {
      return !is_fused(group.strategy) && std::binary_search(group.members.begin(), group.members.end(), member);
    });
  };
  rest.members.erase(std::remove_if(rest.members.begin(), rest.members.end(), only_in_fused), rest.members.end());
  rest.name = "in turn";
  if (!rest.members.empty()) fused.groups.push_back(std::move(rest));
  return fused;
}

std::optional<Nanoseconds> GainWalk::time_of(const Plan& plan) {
  // A limit on memory changes nothing of a plan that keeps it.
  Plan free = plan;
  free.limits.memory.reset();
  const WalkPoints::Point& point = point_of(free);
  if (!plan.limits.memory || !point.time || point.memory <= *plan.limits.memory) return point.time;
  return point_of(plan).time;
}

const WalkPoints::Point& GainWalk::point_of(const Plan& plan) {
  return points_.at(fingerprint(plan), ratio_, [&] {
    WalkPoints::Point point;
    ChoiceRule rule;
    rule.preferred = &preferred_;
    if (const Result<LoweredPlan> lowered = evaluator_.lowered(plan, case_.models, rule)) {
      point.memory = lowered->program.memory.total();
      if (const auto time = evaluator_.without_overheads(plan, lowered->program)) point.time = *time;
    }
    return point;
  });
}

Attribution GainWalk::explain(const Plan& plan, Nanoseconds with_overheads, Nanoseconds without_overheads) {
  Attribution attribution;
  Nanoseconds last = baseline_.without_overheads;
  if (case_.learned != nullptr) {  // the parts are of this plan's ops as they were found to run
    evaluator_.hold_ratio(ratio_ = case_.learned->of(plan));
  }
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
  at.input = plan.input;
  go_to(time_of(at), GainCause::kOverlap);
  if (std::any_of(plan.groups.begin(), plan.groups.end(),
                  [](const Group& group) { return is_fused(group.strategy); })) {
    go_to(time_of(only_fused(plan)), GainCause::kFusion);
  }
  at = plan;
  at.baselines.clear();
  at.resolved.reset();
  go_to(time_of(at), plan.streams > 1 ? GainCause::kOverlap : GainCause::kAlgorithmChoice);
  go_to(without_overheads, GainCause::kAlgorithmChoice);
  attribution.of(GainCause::kLaunchRemoval) =
      (baseline_.step_time - baseline_.without_overheads) - (with_overheads - without_overheads);
  evaluator_.hold_ratio(std::nullopt);
  return attribution;
}

}  // namespace cohort
