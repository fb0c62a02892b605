#pragma once

#include <optional>

#include "base/units.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a framework had allocated on the device during a step, as its allocator's totals say.
struct RecordedMemory {
  Bytes kept;  ///< the least: weights, and whatever else outlives the step
  Bytes step;  ///< the most above that: activations and workspace, which the totals do not tell apart
};

/// Of the device whose allocations were recorded most often. Absent where the window holds no record.
std::optional<RecordedMemory> recorded_memory(const Trace& trace, const std::optional<TimeWindow>& window);

}  // namespace cohort
