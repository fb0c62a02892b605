// The part of VariantMaker that fuses the ops that are asked for.

#include "simulator/planner/fuse_ops.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "simulator/plan/fuse.hpp"
#include "simulator/planner/evaluate.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {
namespace {

/// How an op may run: by one of kFusedStrategies, or by itself.
constexpr std::size_t kAlone = kFusedStrategies.size();
constexpr std::size_t kChoices = kAlone + 1;

/// Ways that were never recorded count first.
struct WayCost {
  int unrecorded = 0;
  Nanoseconds time{};

  friend bool operator<(const WayCost& a, const WayCost& b) {
    return std::pair(a.unrecorded, a.time) < std::pair(b.unrecorded, b.time);
  }
  friend WayCost operator+(const WayCost& a, const WayCost& b) {
    return {a.unrecorded + b.unrecorded, a.time + b.time};
  }
};

/// The least of the ops so far with the last one run in some way, and how the op ahead of it runs then.
struct Way {
  WayCost cost;
  std::size_t ahead = kAlone;
};
using Ways = std::array<std::optional<Way>, kChoices>;

/// Where the op may follow one that runs in any way, and where only one that runs by the same strategy.
void extend(const Ways& before, std::size_t choice, bool follows_any, const WayCost& own, Ways& ways) {
  for (std::size_t ahead = 0; ahead < kChoices; ++ahead) {
    if (!before[ahead] || !(follows_any || ahead == choice)) continue;
    const WayCost cost = before[ahead]->cost + own;
    if (!ways[choice] || cost < ways[choice]->cost) ways[choice] = Way{cost, ahead};
  }
}

/// Tensors of the op only get another shape: nothing is gained or lost by leaving it out.
bool does_nothing(const Op& op) { return std::holds_alternative<Reshape>(op.attributes) && op.post_ops.empty(); }

bool is_named(const Op& op, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_pattern(op.name, pattern); });
}

}  // namespace

bool VariantMaker::fusion_is_recorded(std::size_t member_class, std::size_t op, Strategy strategy, int streams) {
  const MemberClass& members = classes_[member_class];
  const std::size_t width =
      (members.members.size() + static_cast<std::size_t>(streams) - 1) / static_cast<std::size_t>(streams);
  CostKey key{members.signatures[op], strategy, static_cast<int>(width), 1, ""};
  if (runs_as_group(members.model->ops[op], strategy)) key = launch_key({{member_class, op, width}});
  for (const int threads : {1, case_.device.cores}) {
    key.threads = threads;
    const std::optional<Cost> cost = times_.cost(key, {footprint_, 0});
    if (cost && cost->origin != CostOrigin::kAnalytic) return true;
  }
  return false;
}

/// Why no strategy takes the op where it stands.
Error VariantMaker::why_not_fused(std::size_t member_class, std::size_t op) const {
  const MemberClass& members = classes_[member_class];
  const Op& what = members.model->ops[op];
  for (const Strategy strategy : {Strategy::kStridedBatch, Strategy::kGroupedConvolution}) {
    if (!can_fuse(member_class, op, strategy) || is_core(member_class, op, strategy)) continue;
    return {ErrorCode::kNegativeAnswer,
            fmt::format("op {} ({}) is only fused along with the op ahead of it, by {}: ask for that, too", what.name,
                        op_type(what.attributes), to_string(strategy))};
  }
  const bool has_channels = members.model->tensor(what.outputs[0]).shape.size() == 4;
  const Strategy nearest = has_channels ? Strategy::kGroupedConvolution : Strategy::kStridedBatch;
  const auto refusal = fuse(*members.model, what, nearest, static_cast<int>(members.members.size()), false);
  if (!refusal) return {ErrorCode::kNegativeAnswer, refusal.error().message};
  return {ErrorCode::kNegativeAnswer, fmt::format("op {} ({}): no profile tells what a launch of several takes",
                                                  what.name, op_type(what.attributes))};
}

/// What the choice costs the op, where it can be made: named ops are fused, others are not.
std::optional<VariantMaker::Choice> VariantMaker::choice_of(std::size_t member_class, std::size_t op, bool named,
                                                            std::optional<Strategy> strategy, int streams) {
  const Op& what = classes_[member_class].model->ops[op];
  if (!strategy) {
    if (named && !does_nothing(what)) return std::nullopt;
    return Choice{.follows_any = true, .recorded = !named, .time = {}};
  }
  const bool core = is_core(member_class, op, *strategy);
  const bool goes_along = core || *strategy != Strategy::kDenseConvolution;
  if (!named || !goes_along || !can_fuse(member_class, op, *strategy)) return std::nullopt;
  return Choice{.follows_any = core,
                .recorded = does_nothing(what) || fusion_is_recorded(member_class, op, *strategy, streams),
                .time = fused_time(member_class, op, *strategy, streams)};
}

/// The ways of a class's ops that take least together: an op that no strategy is for goes along with the one ahead.
Result<VariantMaker::Wish> VariantMaker::fastest_wish(std::size_t member_class,
                                                      const std::vector<std::string>& patterns, int streams) {
  const std::vector<Op>& ops = classes_[member_class].model->ops;
  std::vector<Ways> ways(ops.size() + 1);
  ways[0][kAlone] = Way{};
  for (std::size_t op = 0; op < ops.size(); ++op) {
    for (std::size_t choice = 0; choice < kChoices; ++choice) {
      std::optional<Strategy> strategy;
      if (choice != kAlone) strategy = kFusedStrategies[choice];
      const auto made = choice_of(member_class, op, is_named(ops[op], patterns), strategy, streams);
      if (made) extend(ways[op], choice, made->follows_any, {made->recorded ? 0 : 1, made->time}, ways[op + 1]);
    }
    const Ways& now = ways[op + 1];
    if (std::none_of(now.begin(), now.end(), [](const auto& way) { return way.has_value(); }))
      return tl::unexpected<Error>(why_not_fused(member_class, op));
  }
  Wish wish(ops.size());
  const Ways& last = ways.back();
  std::size_t choice = kAlone;
  for (std::size_t i = 0; i < kChoices; ++i) {
    if (last[i] && (!last[choice] || last[i]->cost < last[choice]->cost)) choice = i;
  }
  for (std::size_t op = ops.size(); op-- > 0;) {
    if (choice != kAlone) wish[op] = kFusedStrategies[choice];
    choice = ways[op + 1][choice]->ahead;
  }
  return wish;
}

Result<Variant> VariantMaker::with_fused(Variant rest, const std::optional<std::vector<std::string>>& patterns) {
  if (!patterns) {
    rest.fused = greedy_runs(rest.rest, rest.streams);
    return rest;
  }
  for (const std::string& pattern : *patterns) {
    const auto has = [&](const MemberClass& members) {
      return members.members.size() > 1 && std::any_of(members.model->ops.begin(), members.model->ops.end(),
                                                       [&](const Op& op) { return matches_pattern(op.name, pattern); });
    };
    if (std::none_of(classes_.begin(), classes_.end(), has))
      return fail(ErrorCode::kNegativeAnswer, "{}: no op that several equal members have is called so", pattern);
  }
  const int streams = rest.rest == RestKind::kConcurrent ? rest.streams : 1;
  std::vector<Wish> wishes;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    Wish& wish = wishes.emplace_back(classes_[c].signatures.size());
    if (classes_[c].members.size() < 2) continue;
    COHORT_TRY(wish, fastest_wish(c, *patterns, streams));
  }
  rest.fused = runs_of(wishes);
  return rest;
}

Result<Plan> plan_with_fused_ops(const PlanningCase& planning_case, RestKind rest, int streams,
                                 const std::optional<std::vector<std::string>>& patterns) {
  const Plan& base = *planning_case.base;
  PlanEvaluator evaluator(planning_case);
  VariantMaker maker(planning_case, evaluator.times(), evaluator.footprint(planning_case.models));
  Variant variant;
  variant.rest = rest;
  variant.streams = streams;
  variant.sharing = base.input.sharing;
  variant.launch = base.launch;
  variant.input = input_setting(base);
  variant.launch_threads = base.launch_threads;
  COHORT_TRY(variant, maker.with_fused(std::move(variant), patterns));
  return maker.plan_of(variant);
}

}  // namespace cohort
