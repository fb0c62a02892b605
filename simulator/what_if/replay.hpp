#pragma once

#include "base/result.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/trace_graph/trace_graph.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// The part of a trace that is replayed: as the options say, else its typical ProfilerStep or
/// repetition, else all of it. Windows are moments in which the host calls: of a repetition, from the
/// call that launched its first kernel to the one that launched the next repetition's.
/// Errors: as select_step().
Result<StepSelection> select_replay_step(const Trace& trace, const StepOptions& options);

/// How well a trace graph gives back the run it was made from.
struct Replay {
  Nanoseconds traced{};           ///< first start to last end of what was recorded
  Nanoseconds simulated{};        ///< the same, simulated
  double relative_error = 0;      ///< (simulated - traced) / traced
  Nanoseconds start_error_p99{};  ///< over calls and device work
  std::size_t tasks = 0;          ///< compared
};

/// A replay that is further off does not explain its step: what-ifs on it are not to be believed.
inline constexpr double kMostReplayError = 0.05;

/// Errors: as run_flat().
Result<Replay> replay(const TraceGraph& trace_graph);

}  // namespace cohort
