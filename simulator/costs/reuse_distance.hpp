#pragma once

#include <vector>

#include "base/units.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// Everything that a program step touches: bytes between two uses of memory that is used once in it.
Bytes footprint_of(const Program& program);

/// A part of the bytes of a call, and how many others are touched until its caches see those again.
struct Reuse {
  Bytes distance;
  double part = 1;
};

/// Steps whose calls cost the same.
struct EqualCalls {
  std::vector<StepId> steps;  ///< ascending
  Bytes weights;              ///< the distance of weights, of the median step
  std::vector<Reuse> reuses;  ///< of all bytes; parts add up to 1
};

/// Bytes that are touched between two uses of each step's weights: all of a program step's, but for steps that share a
/// kernel. Of their uses it is the median: an unrolled loop finds its weights where it has left them, but for the first
/// turn, unless other members' turns come between.
std::vector<Bytes> weight_distances(const Program& program);

/// Weights come back as weight_distances() says; activations that members keep at the same place in
/// the arena, and input that they share, come back with the next of them: the distance is that part of the program step
/// which passes between two calls that cost the same and use the same memory, if members take even turns.
/// Ordered by the first step. O(operands log operands).
std::vector<EqualCalls> reuse_distances(const Program& program);

}  // namespace cohort
