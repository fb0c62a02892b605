#pragma once

#include <string_view>

#include "tracer/trace.hpp"

namespace cohort {

/// Beginning of reasons in info.dropped for device work whose recorded times cannot be. What follows says why, and
/// names the first such record and its time.
inline constexpr std::string_view kImpossibleTimes = "device work of impossible times: ";

/// Mends device work that cannot have run when it was recorded to, and counts it in info.dropped:
/// - at time 0, more than a second before everything else: dropped
/// - before the call that launched it, by more than clocks differ: dropped; where that holds for more than a tenth of
///   a device's work its clock is behind, and all its slices are moved to where their launches allow (by at most a day)
/// - over the next three launches of its stream and more, though few do, or though the host had waited for the device:
///   ends where the next one starts
/// - ten times as long as the host was recorded, and more: dropped
/// Correlation ids must not repeat. `base` is added to the times that are named. Time: O(n log n).
void mend_device_times(Trace& trace, Nanoseconds base);

}  // namespace cohort
