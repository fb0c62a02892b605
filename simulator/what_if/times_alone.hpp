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
  double share = 0;          ///< share of all kernels' recorded time in those that ran beside other kernels or copies
  double unexplained = 0;    ///< their mean error when they are replayed with these times
};

/// Finds times alone with which kernels take the recorded times when they are replayed from their recorded starts with
/// contention, by repeatedly correcting each by its error. Times stay where the model has no slowdown that explains a
/// recorded overlap, and for collectives, which wait for other devices. `step`: of `trace`, recorded on `gpu`; null: on
/// a device without figures, where kernels share what they fill of the multiprocessors and slow each other no further.
/// Time: a few simulations of what ran beside something.
/// Errors: as recorded_gpu_work().
Result<TimesAlone> times_alone(const TraceGraph& step, const Trace& trace, const GpuProfile* gpu);

}  // namespace cohort
