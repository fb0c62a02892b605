#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"

namespace cohort::cupti {

struct Interval {
  Nanoseconds start{};
  Nanoseconds end{};
};

enum class Nesting {
  kNone,    ///< what overlaps at all goes to another lane: kernels of a stream
  kWithin,  ///< what lies within another stays on its lane: ranges
};

/// A lane (0, 1, ...) for each interval, the lowest on which it fits. `intervals` are in order of start,
/// the longer first where they start together. One stream's kernels may overlap (programmatic dependent
/// launch, branches of a graph), and slices of one track must not.
std::vector<std::size_t> assign_lanes(const std::vector<Interval>& intervals, Nesting nesting);

}  // namespace cohort::cupti
