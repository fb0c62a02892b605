#pragma once

#include <vector>

#include "tracer/summary/gpu_summary.hpp"

namespace cohort {

/// What predictions from the trace lack, worst first. `summary` is complete but for this.
std::vector<Shortcoming> find_shortcomings(const Trace& trace, const GpuSummary& summary);

/// Of these: records of a trace's file that were not kept, as far as they matter, or that were mended.
std::vector<Shortcoming> dropped_records(const Trace& trace);

}  // namespace cohort
