#include "simulator/planner/choose.hpp"

#include <algorithm>
#include <tuple>

namespace cohort {
namespace {

/// What makes one way better than another; the smallest wins.
using Rank = std::tuple<bool, bool, bool, std::int64_t, bool, std::size_t>;

Rank rank_of(CallTimes& times, const ChoiceRule& rule, const CostKey& key, const Alternative& way, std::size_t place) {
  CostKey own = key;
  own.threads = way.threads;
  own.algorithm = way.algorithm;
  own.alone = way.alone;
  own.signature = signature_for(way.multiprocessors, own.signature);
  const CostContext context{rule.footprint, way.threads == 1 ? rule.neighbours : 0};
  std::optional<Nanoseconds> time = times.time(own, context);
  if (time && way.threads > 1 && !times.table().in_model()) *time += kWaking;
  const bool other_threads = rule.threads && way.threads != *rule.threads;
  bool is_preferred = false;
  if (rule.preferred != nullptr) {
    const auto found = rule.preferred->find(key.signature);
    is_preferred = found != rule.preferred->end() && found->second == std::pair(way.algorithm, way.threads);
  }
  // A way that was never recorded counts as fast as the fastest that was; then the recorded one is meant.
  return {other_threads, !is_preferred, !time, time.value_or(Nanoseconds(0)).count(), !times.table().has(own), place};
}

}  // namespace

std::optional<Cost> CallTimes::cost(const CostKey& key, const CostContext& context) {
  const auto [place, is_new] = known_.try_emplace({key, context.footprint.value, context.neighbours});
  if (is_new) {
    if (const Result<Cost> cost = costs_->cost(key, context)) place->second = *cost;
  }
  return place->second;
}

std::optional<Nanoseconds> CallTimes::time(const CostKey& key, const CostContext& context) {
  const std::optional<Cost> known = cost(key, context);
  return known ? std::optional(known->time) : std::nullopt;
}

ChooseAlternative choose_by_cost(CallTimes& times, ChoiceRule rule) {
  return [&times, rule](const CostKey& key, std::span<const Alternative> ways) {
    std::size_t best = 0;
    std::optional<Rank> best_rank;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Rank rank = rank_of(times, rule, key, ways[i], i);
      if (!best_rank || rank < *best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    return best;
  };
}

}  // namespace cohort
