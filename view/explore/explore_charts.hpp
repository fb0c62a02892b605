#pragma once

#include <vector>

#include "view/chart/plan_charts.hpp"
#include "view/explore/explore_answer.hpp"

namespace cohort {

/// An entry for each candidate, in their order, for pareto_chart(); `chosen`: the position of one that stands out, none
/// where there is no such candidate.
std::vector<ParetoEntry> pareto_entries(const Recommendation& recommendation, std::size_t chosen = 0);

/// What a band around a curve is.
enum class ScalingBand { kInterval, kBounds, kNone };

/// A curve for each way that has points, in their order, for scaling_chart(). A measurement's range is its quartiles
/// whatever the band; a trace's curves have bounds alone.
std::vector<ScalingCurve> scaling_curves(const Scaling& scaling, ScalingBand band = ScalingBand::kInterval);

}  // namespace cohort
