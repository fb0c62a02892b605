#pragma once

#include <vector>

#include "tracer/summary/gpu_summary.hpp"

namespace cohort {

/// What predictions from the trace must do without, worst first. `summary` is complete but for this.
std::vector<Shortcoming> find_shortcomings(const Trace& trace, const GpuSummary& summary);

}  // namespace cohort
