#include "view/explore/explore_charts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cohort {
namespace {

std::optional<ValueRange> range_of(const ScaledPoint& point, bool measured, ScalingBand band) {
  if (measured || (band == ScalingBand::kBounds)) return ValueRange{point.least, point.most};
  if (band == ScalingBand::kInterval && point.interval) return ValueRange{point.interval->low, point.interval->high};
  return std::nullopt;
}

}  // namespace

std::vector<ParetoEntry> pareto_entries(const Recommendation& recommendation, std::size_t chosen) {
  std::vector<ParetoEntry> entries;
  for (std::size_t i = 0; i < recommendation.candidates.size(); ++i) {
    const ExploreCandidate& candidate = recommendation.candidates[i];
    ParetoEntry& entry = entries.emplace_back();
    entry.name = candidate.name;
    entry.step_time = candidate.step;
    entry.samples_per_second = candidate.per_second;
    entry.latency = candidate.p99_latency;
    entry.memory = candidate.memory;
    entry.speedup = candidate.speedup;
    entry.chosen = i == chosen;
  }
  return entries;
}

std::vector<ScalingCurve> scaling_curves(const Scaling& scaling, ScalingBand band) {
  std::vector<ScalingCurve> curves;
  for (const ScaledWay& way : scaling.ways) {
    if (way.points.empty()) continue;
    ScalingCurve& curve = curves.emplace_back();
    curve.name = way.name;
    curve.measured = way.measured;
    for (const ScaledPoint& point : way.points) {
      const std::string models = fmt::format("{} model{}", point.models, point.models == 1 ? "" : "s");
      curve.points.push_back({point.models, point.speedup, range_of(point, way.measured, band),
                              point.name.empty() ? models : fmt::format("{}: {}", models, point.name)});
    }
  }
  return curves;
}

}  // namespace cohort
