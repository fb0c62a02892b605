#pragma once

#include <cstddef>
#include <span>

#include "simulator/what_if/what_if.hpp"
#include "simulator/what_if/what_if_graphs.hpp"

namespace cohort {

/// What a what-if's answer was made from.
struct WhatIfBasis {
  const WhatIfCase& what_if_case;
  const WhatIf& what_if;
  const WhatIfGraphs& graphs;
  std::span<const Nanoseconds> alone;  ///< by trace: one step, with the minibatch asked for, on an idle device
  std::size_t streams = 0;             ///< with kernels, of all members together, on one GPU
};

/// Says what weakens the answer, the grave first.
void add_doubts(const WhatIfBasis& basis, WhatIfPrediction& result);

}  // namespace cohort
