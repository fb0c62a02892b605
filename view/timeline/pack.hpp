#pragma once

#include <vector>

#include "view/timeline/lane.hpp"

namespace cohort {

/// Slices of a row in any order: three vectors of one length.
struct RowSlices {
  std::vector<Nanoseconds> starts;
  std::vector<Nanoseconds> ends;
  std::vector<SliceId> slices;

  void reserve(std::size_t count);
  void add(Nanoseconds start, Nanoseconds end, SliceId slice);
};

struct PackedRow {
  std::vector<Lane> lanes;
  std::size_t left_out = 0;  ///< for which there were not lanes enough
  Nanoseconds busy{};        ///< time in which at least one runs, those left out included
};

/// Puts overlapping slices on different lanes: what lies inside another one on a lane below it, what overlaps it
/// otherwise on the first free lane.
///
///     lane 0  |outer          |  |b   |
///     lane 1    |a |  |inner |      |c   |
///
/// Time: O(n) for slices in order that do not overlap, else O(n log n + n * lanes).
PackedRow pack(RowSlices row, std::size_t most_lanes);

}  // namespace cohort
