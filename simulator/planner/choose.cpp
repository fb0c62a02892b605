#include "simulator/planner/choose.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace cohort {
namespace {

CostKey key_of(const CostKey& key, const Alternative& way) {
  CostKey own = key;
  own.threads = way.threads;
  own.algorithm = way.algorithm;
  own.alone = way.alone;
  own.signature = signature_for(way.multiprocessors, own.signature);
  return own;
}

/// What makes one way better than another; the smallest wins.
using Rank = std::tuple<bool, bool, bool, std::int64_t, bool, std::size_t>;

Rank rank_of(CallTimes& times, const ChoiceRule& rule, const CostKey& key, std::span<const Alternative> ways,
             std::size_t place) {
  const Alternative& way = ways[place];
  const std::optional<Nanoseconds> time = way_time(times, rule, key, ways, place);
  const bool other_threads = rule.threads && way.threads != *rule.threads;
  bool is_preferred = false;
  if (rule.preferred != nullptr) {
    const auto found = rule.preferred->find(key.signature);
    is_preferred = found != rule.preferred->end() && found->second == std::pair(way.algorithm, way.threads);
  }
  // A way that was never recorded counts as fast as the fastest that was; then the recorded one is meant.
  const bool recorded = times.table().has(key_of(key, way));
  return {other_threads, !is_preferred, !time, time.value_or(Nanoseconds(0)).count(), !recorded, place};
}

bool same_way(const Alternative& a, const Alternative& b) {
  return a.threads == b.threads && a.workspace == b.workspace && a.multiprocessors == b.multiprocessors &&
         a.algorithm == b.algorithm && a.alone == b.alone;
}

/// What was chosen for a call: equal members ask once more for every call of theirs.
struct KnownChoice {
  Strategy strategy{};
  int width = 1;
  const Alternative* listed = nullptr;  ///< the list itself, which lives as long as the lowering that asks
  std::vector<Alternative> ways;
  std::size_t best = 0;
};
using KnownChoices = std::unordered_map<std::string, std::vector<KnownChoice>>;  // by signature

}  // namespace

std::optional<Cost> CallTimes::cost(const CostKey& key, const CostContext& context) {
  const auto [place, is_new] =
      known_.try_emplace({key, context.footprint.value, context.neighbours, context.among_teams});
  if (is_new) {
    if (const Result<Cost> cost = costs_->cost(key, context)) place->second = *cost;
  }
  return place->second;
}

std::optional<Nanoseconds> CallTimes::time(const CostKey& key, const CostContext& context) {
  const std::optional<Cost> known = cost(key, context);
  return known ? std::optional(known->time) : std::nullopt;
}

std::optional<Nanoseconds> way_time(CallTimes& times, const ChoiceRule& rule, const CostKey& key,
                                    std::span<const Alternative> ways, std::size_t place) {
  const Alternative& way = ways[place];
  CostContext context{rule.footprint};
  if (way.threads == 1) {
    context.neighbours = rule.neighbours;
    // Each op on the threads that suit it: then some of those around this one are on several.
    context.among_teams = !rule.threads && rule.neighbours == 0 &&
                          std::any_of(ways.begin(), ways.end(), [](const auto& other) { return other.threads > 1; });
  }
  std::optional<Nanoseconds> time = times.time(key_of(key, way), context);
  if (time && way.threads > 1 && !times.table().in_model()) *time += kWaking;
  return time;
}

ChooseAlternative choose_by_cost(CallTimes& times, ChoiceRule rule) {
  return [&times, rule, known = KnownChoices()](const CostKey& key, std::span<const Alternative> ways) mutable {
    std::vector<KnownChoice>& alike = known[key.signature];
    for (const KnownChoice& choice : alike) {
      if (choice.strategy == key.strategy && choice.width == key.width &&
          (choice.listed == ways.data() || std::ranges::equal(choice.ways, ways, same_way)))
        return choice.best;
    }
    std::size_t best = 0;
    std::optional<Rank> best_rank;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Rank rank = rank_of(times, rule, key, ways, i);
      if (!best_rank || rank < *best_rank) {
        best = i;
        best_rank = rank;
      }
    }
    alike.push_back({key.strategy, key.width, ways.data(), {ways.begin(), ways.end()}, best});
    return best;
  };
}

}  // namespace cohort
