#pragma once

#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Bytes of a view's elements, however they lie.
Bytes bytes_of(const View& view);

/// Bytes of input that a program step reads: those of one buffer in flight.
Bytes input_read_by(const Program& program);

/// Everything that a program step touches: bytes between two uses of memory that is used once in it.
Bytes footprint_of(const Program& program);

/// Bytes that are touched between two uses of each step's weights: all of a program step's, but for steps that share a
/// kernel. Of their uses it is the median: an unrolled loop finds its weights where it has left them, but for the first
/// turn, unless other members' turns come between.
std::vector<Bytes> weight_distances(const Program& program);

}  // namespace cohort
