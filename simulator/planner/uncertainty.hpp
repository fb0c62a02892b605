#pragma once

#include <chrono>

#include "simulator/planner/planner.hpp"

namespace cohort {

/// Steps shorter than this vary from run to run by more than a prediction can follow.
inline constexpr std::chrono::microseconds kShortStep{100};

/// A profile adds up where a whole step differs from its ops and what the host adds to them by no more than this part.
inline constexpr double kMostUnexplained = 0.05;

/// A machine is steady where whole steps of one program vary by no more than this while they are profiled.
inline constexpr double kMostVariation = 0.05;

/// The interval that should hold 8 of 10 measured speedups. It widens with the spread of the ops' samples, how far
/// whole steps lay apart while they were profiled, the part of a step's time that its ops do not explain, ops between
/// recorded widths or never recorded fused, streams where none was timed beside another, footprints beyond the largest
/// that was timed, and short steps. The weights were fitted on a CPU, before the variation of steps counted; those for
/// a GPU are a guess until one is measured. For a plan that was run before, only variation from run to run counts.
SpeedupInterval speedup_interval(const PlanningCase& planning_case, const Plan& plan, const Prediction& prediction,
                                 double speedup);

/// Whether two predictions cannot be told apart.
inline bool overlap(const SpeedupInterval& a, const SpeedupInterval& b) { return a.low <= b.high && b.low <= a.high; }

}  // namespace cohort
