#include "training/search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/ids.hpp"

namespace cohort {
namespace {

class ListSearch final : public Search {
 public:
  explicit ListSearch(std::vector<Point> points) : points_(std::move(points)) {}

  std::optional<Trial> ask() override {
    if (next_ == points_.size()) return std::nullopt;
    const auto id = static_cast<TrialId>(next_);
    return Trial{id, points_[next_++]};
  }
  void tell(const Observation& /*observation*/) override {}
  std::vector<TrialId> stopped() override { return {}; }

 private:
  std::vector<Point> points_;
  std::size_t next_ = 0;
};

class HalvingSearch final : public Search {
 public:
  HalvingSearch(std::unique_ptr<Search> inner, const HalvingRule& rule) : inner_(std::move(inner)), rule_(rule) {}

  std::optional<Trial> ask() override {
    auto trial = inner_->ask();
    if (trial) running_.insert(trial->id);
    return trial;
  }

  void tell(const Observation& observation) override {
    inner_->tell(observation);
    if (!observation.metric || !std::isfinite(*observation.metric)) {
      running_.erase(observation.trial);
    } else if (observation.epoch % rule_.every == 0) {
      rungs_[observation.epoch][observation.trial] = *observation.metric;
    }
  }

  std::vector<TrialId> stopped() override {
    std::vector<TrialId> stopped = inner_->stopped();
    for (const TrialId id : stopped) running_.erase(id);
    while (!rungs_.empty() && complete(rungs_.begin()->second)) {
      for (const TrialId id : worst_of(rungs_.begin()->second)) {
        running_.erase(id);
        stopped.push_back(id);
      }
      rungs_.erase(rungs_.begin());
    }
    std::sort(stopped.begin(), stopped.end());
    return stopped;
  }

 private:
  using Rung = std::map<TrialId, double>;

  [[nodiscard]] bool complete(const Rung& rung) const {
    return std::all_of(running_.begin(), running_.end(), [&](TrialId id) { return rung.contains(id); });
  }

  [[nodiscard]] std::vector<TrialId> worst_of(const Rung& rung) const {
    std::vector<std::pair<double, TrialId>> ranked;  // least first
    for (const TrialId id : running_) {
      const double metric = rung.at(id);
      ranked.emplace_back(higher_is_better(rule_.metric) ? -metric : metric, id);
    }
    std::sort(ranked.begin(), ranked.end());
    const auto share = static_cast<std::size_t>(std::ceil(rule_.keep * static_cast<double>(ranked.size())));
    const std::size_t kept = std::min(ranked.size(), std::max(share, static_cast<std::size_t>(rule_.at_least)));
    std::vector<TrialId> worst;
    for (std::size_t i = kept; i < ranked.size(); ++i) worst.push_back(ranked[i].second);
    return worst;
  }

  std::unique_ptr<Search> inner_;
  HalvingRule rule_;
  std::set<TrialId> running_;
  std::map<std::int64_t, Rung> rungs_;  ///< by epoch: what was told of it
};

}  // namespace

std::unique_ptr<Search> list_search(std::vector<Point> points) {
  return std::make_unique<ListSearch>(std::move(points));
}

std::unique_ptr<Search> random_search(std::vector<Dimension> dimensions, std::int64_t samples, std::uint64_t seed) {
  std::vector<Point> points;
  for (std::int64_t i = 0; i < samples; ++i) {
    Random random(derive_seed(seed, static_cast<std::uint64_t>(i)));
    points.push_back(drawn_point(dimensions, random));
  }
  return list_search(std::move(points));
}

std::unique_ptr<Search> halving_search(std::unique_ptr<Search> inner, const HalvingRule& rule) {
  return std::make_unique<HalvingSearch>(std::move(inner), rule);
}

std::unique_ptr<Search> make_search(const Sweep& sweep) {
  std::unique_ptr<Search> search;
  switch (sweep.search) {
    case SearchKind::kGrid:
      search = list_search(grid_of(sweep.space));
      break;
    case SearchKind::kRandom:
      search = random_search(sweep.space, sweep.samples, sweep.seed);
      break;
    case SearchKind::kList:
      search = list_search(sweep.members);
      break;
  }
  return sweep.halving ? halving_search(std::move(search), *sweep.halving) : std::move(search);
}

}  // namespace cohort
