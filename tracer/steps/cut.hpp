#pragma once

#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Setting of a trace that was cut from another: which part it is.
inline constexpr const char* kPartSetting = "part";

/// The part of a trace that belongs to a step, by the moments in which its host works: what starts inside the window,
/// and the device work that calls inside it launched, however late that runs. Device work without a call counts by its
/// own start; ranges drawn on a stream, which say what the host's say, are left out. Times, tracks and what is known of
/// the whole stay as they are; the step's name is noted among the settings. Time: O(n log n).
Trace cut(const Trace& trace, const TraceStep& step);

}  // namespace cohort
