#pragma once

#include <chrono>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Steps shorter than this vary from run to run by more than a prediction can follow.
inline constexpr std::chrono::microseconds kShortStep{100};

/// Where a measured speedup lies in 8 of 10 cases, by what the prediction is made of: how far the samples of ops lie
/// apart, how much of a step's time its ops leave unexplained, ops between recorded widths or never recorded as fused,
/// footprints beyond the largest that was timed, and how short the step is. The weights follow what was measured on a
/// CPU; a GPU's is a guess until one was measured.
SpeedupInterval speedup_interval(const PlanningCase& planning_case, const Prediction& prediction, double speedup);

/// Whether two predictions cannot be told apart.
inline bool overlap(const SpeedupInterval& a, const SpeedupInterval& b) { return a.low <= b.high && b.low <= a.high; }

}  // namespace cohort
