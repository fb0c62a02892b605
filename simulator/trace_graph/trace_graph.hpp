#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "simulator/engine/task_graph.hpp"
#include "simulator/trace_graph/records.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct TraceGraphOptions {
  std::optional<TimeWindow> window;  ///< calls that begin in it, and what they launch; absent: everything
  /// True: as it was. Device work launched before the window, or by nothing that was recorded, is pinned to
  /// its recorded start. False: the window's own work, on an idle device; what ran before its first op is left
  /// out, and other work without a launch record follows what is ahead of it on its stream.
  bool in_flight = true;
  /// Without `in_flight`: the window ends where a step does. What the thread of its last call does until then, such as
  /// logging or loading data, is part of the step.
  bool whole_steps = false;
};

/// What a trace shows without queueing, medians (of latency the first quartile); public traces' figures where it shows
/// none.
struct TypicalTimes {
  Nanoseconds launch_latency{7000};  ///< from the start of a launch to that of its kernel on an idle stream
  Nanoseconds stream_gap{1000};      ///< between ops of a busy stream
  Nanoseconds event_latency{1500};   ///< from an op's end to the start of one on another stream that waits for it
  Nanoseconds return_latency{5000};  ///< from an op's end to the return of the call that waits for it
  Nanoseconds launch{5000};          ///< a launching call that waits for nothing
};

struct TraceGraphCounts {
  std::size_t calls = 0;
  std::size_t ops = 0;
  std::size_t nested_calls = 0;           ///< dropped
  std::size_t without_launch_record = 0;  ///< ops that no call of the trace launched: pinned to their recorded start
  std::size_t launched_before = 0;        ///< ops in flight when the window begins: pinned likewise
  std::size_t left_out = 0;               ///< ops of neither kind that are not wanted
  std::size_t overlaps = 0;               ///< ops that began before the one ahead of them on their stream ended
  std::size_t graph_launches = 0;         ///< calls that launched several ops
  std::size_t waits = 0;                  ///< calls whose length follows from other work
  std::size_t inferred_waits = 0;         ///< of these: no record said for what
  std::size_t unresolved_waits = 0;       ///< waiting calls whose length is kept: nothing ends in time to explain it
  std::size_t handoffs = 0;               ///< idle threads that another thread's work explains
  /// Start of the first to end of the last op that the window's calls launched, where the host runs so far ahead that
  /// none of them begins in the window: the step on the device.
  std::optional<Nanoseconds> device_span;
  /// How long the device goes on with the window's own work once the host has begun with the next step; 0: it does not.
  Nanoseconds behind_host{};
  std::optional<std::size_t> launch_queue;  ///< ops that a stream takes before launches wait, where the trace shows it
};

/// A recorded GPU trace as a task graph.
///
/// Host threads serve their tasks in order: calls, host work between them, and for a call that waits
/// a moment of return:
///
///     thread    |launch|work|launch|sync:  own| ............ |return|work|
///     stream          +latency |== kernel ==|== kernel ======|^residual
///
/// Streams overlap: each op follows its launch, the op ahead of it on its stream and the events its
/// stream waits for. The one of these that made it start when it did keeps its recorded delay, the
/// others get a typical one, so that the graph replays as recorded and reacts when times change.
struct TraceGraph {
  struct Times {
    Nanoseconds start{};
    Nanoseconds end{};
  };
  TaskGraph graph;
  Nanoseconds origin{};                        ///< recorded moment of time 0
  std::vector<std::optional<Times>> recorded;  ///< by task, since the origin; absent for work between calls and marks
  TypicalTimes typical;
  TraceGraphCounts counts;
};

/// Traces with calls and device work of a GPU; else tracks of tasks, as Cohort's own runs (see
/// tracks.hpp).
/// Complexity: O(n log n) in the slices.
/// Errors: kInvalidInput where the window or the trace holds no device work.
Result<TraceGraph> build_trace_graph(const Trace& trace, const TraceGraphOptions& options = {});

}  // namespace cohort
