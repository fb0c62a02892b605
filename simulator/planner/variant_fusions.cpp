// The part of VariantMaker that fuses the ops that are asked for, and offers fusions to choose from.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "simulator/plan/fuse.hpp"
#include "simulator/planner/variants.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {
namespace {

/// How an op may run: by one of kFusedStrategies, or by itself.
constexpr std::size_t kAlone = kFusedStrategies.size();
constexpr std::size_t kChoices = kAlone + 1;

// Of models with more ops the most promising are fused by themselves.
constexpr std::size_t kMostOpsAlone = 32;
constexpr std::size_t kMostRunsAlone = 16;

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

/// Tensors of the op only get another shape, or are parts of another: nothing is gained or lost by leaving it out.
bool does_nothing(const Op& op) {
  const bool views = std::holds_alternative<Reshape>(op.attributes) || std::holds_alternative<Pack>(op.attributes) ||
                     std::holds_alternative<Unpack>(op.attributes);
  return views && op.post_ops.empty();
}

/// Each fuses its own members.
int fusing_streams(const Variant& variant) { return variant.rest == RestKind::kConcurrent ? variant.streams : 1; }

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

std::string VariantMaker::why_not_fused(std::size_t member_class, std::size_t op, Strategy strategy) const {
  const MemberClass& members = classes_[member_class];
  const Op& what = members.model->ops[op];
  const auto refusal =
      fuse(*members.model, what, strategy, static_cast<int>(members.members.size()), shares_input(member_class, op));
  if (!refusal && !runs_as_group(what, strategy)) return refusal.error().message;
  return fmt::format("op {} ({}): no profile tells what several in one call take", what.name, op_type(what.attributes));
}

std::optional<std::string> VariantMaker::why_unused(Strategy strategy) const {
  const bool one_of_several = strategy == Strategy::kGroupedGemm;
  if (one_of_several || case_.models.size() < 2 || !runs_for({strategy}).empty()) return std::nullopt;
  std::optional<std::string> why;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    const MemberClass& members = classes_[c];
    for (std::size_t op = 0; op < members.model->ops.size(); ++op) {
      if (!is_core(c, op, strategy)) continue;
      if (members.members.size() > 1) return why_not_fused(c, op, strategy);
      why = "no two members are equal";
    }
  }
  return why;
}

/// Why no strategy takes the op where it stands.
Error VariantMaker::why_not_fused(std::size_t member_class, std::size_t op,
                                  const std::vector<std::string>& patterns) const {
  const MemberClass& members = classes_[member_class];
  const Op& what = members.model->ops[op];
  for (const Strategy strategy : {Strategy::kStridedBatch, Strategy::kGroupedConvolution}) {
    if (!can_fuse(member_class, op, strategy) || is_core(member_class, op, strategy)) continue;
    const bool asked_too = op > 0 && is_named(members.model->ops[op - 1], patterns);
    return {ErrorCode::kNegativeAnswer,
            fmt::format("op {} ({}) is only fused along with the op ahead of it, by {}: {}", what.name,
                        op_type(what.attributes), to_string(strategy),
                        asked_too ? "that one is not, so leave this one out" : "ask for that, too")};
  }
  const bool has_channels = members.model->tensor(what.outputs[0]).shape.size() == 4;
  const Strategy nearest = has_channels ? Strategy::kGroupedConvolution : Strategy::kStridedBatch;
  return {ErrorCode::kNegativeAnswer, why_not_fused(member_class, op, nearest)};
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

/// The ways of a class's ops that take least together: an op that no strategy is for goes along with the one ahead. Of
/// ops that a pattern with '*' matches, those that nothing can fuse stay alone.
Result<VariantMaker::Wish> VariantMaker::fastest_wish(std::size_t member_class,
                                                      const std::vector<std::string>& patterns, int streams,
                                                      std::vector<std::size_t>& left_alone) {
  const std::vector<Op>& ops = classes_[member_class].model->ops;
  std::vector<std::string> exact = patterns;
  std::erase_if(exact, [](const std::string& pattern) { return pattern.find('*') != std::string::npos; });
  std::vector<Ways> ways(ops.size() + 1);
  ways[0][kAlone] = Way{};
  for (std::size_t op = 0; op < ops.size(); ++op) {
    for (std::size_t choice = 0; choice < kChoices; ++choice) {
      std::optional<Strategy> strategy;
      if (choice != kAlone) strategy = kFusedStrategies[choice];
      const auto made = choice_of(member_class, op, is_named(ops[op], patterns), strategy, streams);
      if (made) extend(ways[op], choice, made->follows_any, {made->recorded ? 0 : 1, made->time}, ways[op + 1]);
    }
    Ways& now = ways[op + 1];
    if (std::any_of(now.begin(), now.end(), [](const auto& way) { return way.has_value(); })) continue;
    if (is_named(ops[op], exact)) return tl::unexpected<Error>(why_not_fused(member_class, op, patterns));
    left_alone.push_back(op);
    extend(ways[op], kAlone, true, {}, now);
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

Result<Variant> VariantMaker::with_fused(Variant rest, const std::vector<std::string>& patterns,
                                         std::vector<std::string>& left_alone) {
  for (const std::string& pattern : patterns) {
    const auto has = [&](const MemberClass& members) {
      return members.members.size() > 1 && std::any_of(members.model->ops.begin(), members.model->ops.end(),
                                                       [&](const Op& op) { return matches_pattern(op.name, pattern); });
    };
    if (std::none_of(classes_.begin(), classes_.end(), has))
      return fail(ErrorCode::kNegativeAnswer, "{}: no op of this name is in several equal members", pattern);
  }
  std::vector<Wish> wishes;
  std::optional<Error> why_alone;  // of the first
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    Wish& wish = wishes.emplace_back(classes_[c].signatures.size());
    if (classes_[c].members.size() < 2) continue;
    std::vector<std::size_t> alone;
    COHORT_TRY(wish, fastest_wish(c, patterns, fusing_streams(rest), alone));
    if (!alone.empty() && !why_alone) why_alone = why_not_fused(c, alone.front(), patterns);
    for (const std::size_t op : alone) {
      const std::string& name = classes_[c].model->ops[op].name;
      if (std::find(left_alone.begin(), left_alone.end(), name) == left_alone.end()) left_alone.push_back(name);
    }
  }
  rest.fused = runs_of(wishes);
  if (rest.fused.empty() && why_alone) return tl::unexpected<Error>(*std::move(why_alone));
  return rest;
}

/// The fastest recorded of the strategies that are for the op; absent where none is.
std::optional<Strategy> VariantMaker::fastest_alone(std::size_t member_class, std::size_t op, int streams) {
  std::optional<std::pair<WayCost, Strategy>> fastest;
  for (const Strategy strategy : kFusedStrategies) {
    const auto choice = choice_of(member_class, op, true, strategy, streams);
    if (!choice || !choice->follows_any) continue;  // it would only go along with the op ahead of it
    const WayCost cost{choice->recorded ? 0 : 1, choice->time};
    if (!fastest || cost < fastest->first) fastest.emplace(cost, strategy);
  }
  return fastest ? std::optional(fastest->second) : std::nullopt;
}

/// Each op by itself, those of one name in all classes that have it.
std::vector<VariantMaker::Runs> VariantMaker::ops_alone(int streams) {
  std::map<std::string, std::vector<Wish>> by_name;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    if (classes_[c].members.size() < 2) continue;
    const std::vector<Op>& ops = classes_[c].model->ops;
    for (std::size_t op = 0; op < ops.size(); ++op) {
      const std::optional<Strategy> strategy = fastest_alone(c, op, streams);
      if (strategy) by_name.try_emplace(ops[op].name, wish_of({})).first->second[c][op] = strategy;
    }
  }
  std::vector<Runs> runs;
  for (const auto& [name, wish] : by_name) runs.push_back(runs_of(wish));
  return runs;
}

/// What each strategy can take, and what is faster op by op, run by run.
VariantMaker::Runs VariantMaker::single_runs(const Variant& variant) {
  Runs all = greedy_runs(variant.rest, variant.streams);
  for (const Strategy strategy : kFusedStrategies) {
    for (FusedRun& run : runs_for({strategy})) {
      if (std::find(all.begin(), all.end(), run) == all.end()) all.push_back(std::move(run));
    }
  }
  return all;
}

void VariantMaker::sort_by_promise(std::vector<Variant>& variants) {
  std::vector<std::pair<Nanoseconds, std::size_t>> order;
  for (const Variant& variant : variants) order.emplace_back(estimate(variant), order.size());
  std::sort(order.begin(), order.end());
  std::vector<Variant> sorted;
  for (const auto& [time, place] : order) sorted.push_back(std::move(variants[place]));
  variants = std::move(sorted);
}

std::vector<Variant> VariantMaker::fusions(const Variant& rest) {
  std::vector<Variant> found;
  const auto add = [&](Runs runs, std::vector<Variant>& list) {
    Variant variant = rest;
    variant.fused = std::move(runs);
    const auto has = [&](const std::vector<Variant>& each) {
      return std::find(each.begin(), each.end(), variant) != each.end();
    };
    if (!variant.fused.empty() && !has(found) && !has(list)) list.push_back(std::move(variant));
  };
  const auto add_most_promising = [&](std::vector<Variant> list, std::size_t most) {
    sort_by_promise(list);
    list.resize(std::min(list.size(), most));
    found.insert(found.end(), std::make_move_iterator(list.begin()), std::make_move_iterator(list.end()));
  };
  add(greedy_runs(rest.rest, rest.streams), found);
  for (Runs& runs : maximal_runs()) add(std::move(runs), found);
  std::vector<Variant> ops;
  for (Runs& runs : ops_alone(fusing_streams(rest))) add(std::move(runs), ops);
  add_most_promising(std::move(ops), kMostOpsAlone);
  std::vector<Variant> runs;
  for (FusedRun& run : single_runs(rest)) add({std::move(run)}, runs);
  add_most_promising(std::move(runs), kMostRunsAlone);
  return found;
}

std::vector<Variant> VariantMaker::fusion_changed(const Variant& variant) {
  const std::vector<Wish> wish = wish_of(variant.fused);
  const auto with = [&](const FusedRun& run, std::optional<Strategy> strategy) {
    std::vector<Wish> own = wish;
    for (const std::size_t op : run.ops) own[run.member_class][op] = strategy;
    Variant changed = variant;
    changed.fused = runs_of(own);
    return changed;
  };
  std::vector<Variant> changed;
  for (const FusedRun& run : variant.fused) changed.push_back(with(run, std::nullopt));
  std::vector<Variant> others = one_op_changed(variant);
  for (const FusedRun& run : single_runs(variant)) others.push_back(with(run, run.strategy));
  sort_by_promise(others);
  changed.insert(changed.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  return changed;
}

}  // namespace cohort
