#pragma once

#include <vector>

#include "base/units.hpp"
#include "simulator/plan/weight_distances.hpp"

namespace cohort {

/// A part of the bytes of a call, and how many others are touched until its caches see those again.
struct Reuse {
  Bytes distance;
  double part = 1;
};

/// Steps whose calls cost the same.
struct EqualCalls {
  std::vector<StepId> steps;  ///< ascending
  Bytes weights;              ///< weight_distances() of the step in the middle
  std::vector<Reuse> reuses;  ///< of all bytes; parts add up to 1
};

/// Weights come back as weight_distances() says; activations that members keep at the same place in the arena, and
/// input that they share, come back with the next of them: the distance is that part of the program step which passes
/// between two calls that cost the same and use the same memory, if members take even turns. Ordered by the first step.
/// O(operands log operands).
std::vector<EqualCalls> reuse_distances(const Program& program);

}  // namespace cohort
