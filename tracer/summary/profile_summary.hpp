#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "tracer/profile_record.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// One way to run an op, in one state of the caches and its neighbours: what its samples took.
struct WaySummary {
  ProfileRecord record;  ///< its time is the median
  std::int64_t samples = 0;
  Nanoseconds p10{};
  Nanoseconds p90{};
  bool is_plain = false;  ///< warm, with nothing beside it and the smallest footprint that this way was timed at
};

/// An op of a profile with all that was timed of it.
struct OpSummary {
  std::string name;  ///< in the model, of the first op of this signature
  std::string signature;
  Nanoseconds best{};            ///< median of the fastest plain way to run it alone; zero: there is none
  std::vector<WaySummary> ways;  ///< alone before fused, then by width, the fastest first
};

/// Ops by their best, the longest first; copies, overheads and stages of the input are none. Empty where the trace is
/// no profile. Time: O(n log n) in the slices.
std::vector<OpSummary> summarize_profile(const Trace& trace);

/// A table of the plain ways of the first `most` ops.
std::string format_profile_summary(const std::vector<OpSummary>& ops, std::size_t most);

}  // namespace cohort
