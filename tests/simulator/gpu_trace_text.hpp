#pragma once

#include <string>
#include <string_view>

#include "simulator/trace_graph/trace_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A recorded GPU trace from a drawing, one slice per line, times in microseconds:
///
///     main  cudaLaunchKernel  0 5  c1          a call on thread "main" that lasts from 0 to 5, correlation id 1
///     s7    gemm              8 20 c1          device work on stream 7
///     s7    Memcpy_HtoD       8 20 c1          "Memcpy..." and "Memset..." are copies and memsets
///     main  @aten::mm         0 6              an op of the framework, or with "#" an annotation
///     sync  Stream_Wait_Event 3 4  c5 stream=9 wait_on_stream=7 wait_on_cuda_event_record_corr_id=4
///
/// Underscores in names of device work stand for spaces.
Trace gpu_trace_from(std::string_view text);

/// "label 0-5\n..." of calls and device work in order of id, in microseconds; a call that waits ends when it returns.
std::string replayed(const TraceGraph& trace_graph);
/// The same of a drawing, or the error's message.
std::string replay_of(std::string_view text);

}  // namespace cohort
