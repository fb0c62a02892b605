#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"
#include "tracer/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a framework had allocated on the device during a step, as its allocator's totals say.
struct RecordedMemory {
  Bytes kept;  ///< the least: weights, and whatever else outlives the step
  Bytes step;  ///< the most above that: activations and workspace, which the totals do not tell apart
};

/// Of the device whose allocations were recorded most often. Absent where the window holds no record.
std::optional<RecordedMemory> recorded_memory(const Trace& trace, const std::optional<TimeWindow>& window);

/// Memory of a model batch.
struct BatchMemory {
  std::optional<Bytes> weights;      ///< of all members, with whatever else outlives a step
  std::optional<Bytes> activations;  ///< at a time, workspace included
  std::optional<Bytes> device;       ///< that there is, where the device is known
  std::string unknown;               ///< why nothing is known; empty where something is

  [[nodiscard]] std::optional<Bytes> total() const {
    if (!weights || !activations) return std::nullopt;
    return *weights + *activations;
  }
};

}  // namespace cohort
