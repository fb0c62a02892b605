#pragma once

#include <vector>

#include "base/result.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What kernels that were recorded beside others would have taken alone.
struct TimesAlone {
  std::vector<double> part;  ///< by slice of the trace: of its recorded time, above 0, at most 1; empty where all are 1
  double share = 0;          ///< of all kernels' recorded time: of those that ran beside other kernels or copies
  double unexplained = 0;    ///< how far these are off on average when they are played back so
};

/// Played back from their recorded starts, with contention, kernels that take these times alone take the recorded ones:
/// found by correcting each by what it is off, again and again. Where the model has no slowdown to explain a recorded
/// overlap with, times stay, as do those of collectives, which wait for other devices.
/// `step`: of `trace`, recorded on `gpu`. Time: a few simulations of what ran beside something.
/// Errors: as recorded_gpu_work().
Result<TimesAlone> times_alone(const TraceGraph& step, const Trace& trace, const GpuProfile& gpu);

}  // namespace cohort
