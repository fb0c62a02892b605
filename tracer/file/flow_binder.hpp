#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// What makes two ends one flow.
struct FlowKey {
  StringId name{};
  StringId category{};
  std::int64_t id = 0;
  bool is_name = false;  ///< then `id` numbers the names that ids have

  friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
};

/// One end of a flow as a trace file states it: a point on a track, bound to a slice afterwards.
struct FlowEnd {
  Nanoseconds time{};
  TrackId track{};
  FlowKey key;
  std::optional<std::int64_t> slice;  ///< position among the slices, where the file says it
  bool is_start = false;
};

struct BoundFlows {
  std::vector<Flow> flows;         ///< in the order of their ends in the file
  std::int64_t without_start = 0;  ///< ends whose start is missing
  std::int64_t without_end = 0;    ///< starts that nothing ends
  std::int64_t without_slice = 0;  ///< pairs of which an end lies in no slice
};

/// Pairs starts with ends and finds the slice each lies in: one that begins at that very time, else
/// the innermost that encloses it. An end takes the latest start of its key that is not after it,
/// else the first: clocks of host and device may disagree.
BoundFlows bind_flows(const Trace& trace, const std::vector<FlowEnd>& ends);

}  // namespace cohort
