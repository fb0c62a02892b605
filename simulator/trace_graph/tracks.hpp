#pragma once

#include "base/result.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A trace without calls, as Cohort's own of a CPU, as a task graph: each track serves its outermost
/// slices in order, what lies between them is host work. Iterations (the argument of that name)
/// begin when every track has ended the one before:
///
///     stream 0  |a|b|      |a|b|
///     stream 1  |c     |   |c     |
///
/// Errors: kInvalidInput where no slice begins in the window.
Result<TraceGraph> build_track_graph(const Trace& trace, const TraceGraphOptions& options);

}  // namespace cohort
