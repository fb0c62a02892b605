#include "view/explore/pareto.hpp"

#include <algorithm>
#include <functional>
#include <optional>

namespace cohort {
namespace {

struct Costs {
  double first = 0;
  double second = 0;
};

/// Positions of the candidates that none beats in both costs, the least first cost first; of equals the first.
std::vector<std::size_t> front_of(const std::vector<ExploreCandidate>& candidates,
                                  const std::function<std::optional<Costs>(const ExploreCandidate&)>& costs_of) {
  std::vector<std::pair<std::size_t, Costs>> known;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (const auto costs = costs_of(candidates[i])) known.emplace_back(i, *costs);
  }
  std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) {
    return a.second.first != b.second.first ? a.second.first < b.second.first : a.second.second < b.second.second;
  });
  std::vector<std::size_t> front;
  std::optional<double> least;
  for (const auto& [place, costs] : known) {
    if (least && costs.second >= *least) continue;
    least = costs.second;
    front.push_back(place);
  }
  return front;
}

}  // namespace

void find_fronts(Recommendation& recommendation) {
  recommendation.time_memory =
      front_of(recommendation.candidates, [](const ExploreCandidate& each) -> std::optional<Costs> {
        if (!each.memory) return std::nullopt;
        return Costs{static_cast<double>(each.step.count()), static_cast<double>(each.memory->value)};
      });
  recommendation.throughput_latency =
      front_of(recommendation.candidates, [](const ExploreCandidate& each) -> std::optional<Costs> {
        if (!each.p99_latency) return std::nullopt;
        return Costs{-each.per_second, static_cast<double>(each.p99_latency->count())};
      });
}

}  // namespace cohort
