#pragma once

#include <cstddef>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// Erases the slices at these positions, in any order and each once, with the flows from and to them.
void erase_slices(Trace& trace, std::vector<std::size_t> positions);

}  // namespace cohort
