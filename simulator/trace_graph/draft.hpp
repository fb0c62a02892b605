#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "simulator/trace_graph/trace_graph.hpp"

namespace cohort::trace_graph {

/// What a call waits for before it returns.
struct Dependency {
  std::optional<std::uint32_t> op;    ///< position in Records::ops
  std::optional<std::uint32_t> call;  ///< or in Records::calls
  EdgeKind kind = EdgeKind::kSynchronisation;
};

struct CallPlan {
  bool selected = false;
  Nanoseconds own{};                     ///< length without waiting
  std::vector<Dependency> dependencies;  ///< empty: the call does not wait
  std::optional<TaskId> task, wait;
  std::size_t launched = 0;  ///< ops
};

/// An op in the order in which its stream got it.
struct Launched {
  Nanoseconds time{};  ///< start of its launch; its own start where that is not recorded
  std::uint32_t op = 0;
};

/// A stream's wait for another, as a call put it there.
struct EventWait {
  Nanoseconds time{};    ///< start of the call
  std::uint32_t op = 0;  ///< that it waits for, of the other stream
};

/// A trace graph in the making; each function below adds one part.
struct Draft {
  Draft(const Trace& of, const TraceGraphOptions& with, Records&& from)
      : trace(of), options(with), records(std::move(from)) {}

  const Trace& trace;
  const TraceGraphOptions& options;
  Records records;
  std::vector<CallPlan> calls;                   ///< by position in Records::calls
  std::vector<std::optional<TaskId>> op_tasks;   ///< by position in Records::ops
  std::vector<std::vector<Launched>> by_stream;  ///< every op, in order of launch
  std::vector<std::vector<EventWait>> waits;     ///< of each stream, by time
  std::vector<std::uint32_t> call_order;         ///< selected calls, by start
  std::optional<TaskId> begin;                   ///< the moment 0
  TraceGraph result;
  std::vector<std::optional<LabelId>> labels;  ///< by StringId
  std::vector<ResourceId> threads, streams;

  [[nodiscard]] Nanoseconds since_origin(Nanoseconds time) const { return time - result.origin; }
  LabelId label(StringId name);
  TaskId add(const Task& task, std::optional<TraceGraph::Times> recorded);
  /// The task that stands for a call's return.
  [[nodiscard]] TaskId returned(std::uint32_t call) const {
    return calls[call].wait ? *calls[call].wait : *calls[call].task;
  }
};

/// Last op that a stream got before a moment; of a graph launch the one that ended last.
std::optional<std::uint32_t> last_launched(const Draft& draft, std::uint32_t stream, Nanoseconds before);
/// Ops of other streams that a stream was told before a moment to wait for, behind its last op of then: of each stream
/// the latest.
std::vector<std::uint32_t> waited_for_behind(const Draft& draft, std::uint32_t stream, Nanoseconds before);
/// The call that recorded the event of a synchronisation by call `waits`.
std::optional<std::uint32_t> recording_of(const Records& records, std::uint32_t waits, const RecordedSync& sync);

/// Chooses calls and ops, and measures typical times.
void select(Draft& draft);
void measure_typical_times(Draft& draft);
/// Which streams wait for which ops of others.
void find_event_waits(Draft& draft);
/// Which calls wait, and for what.
void find_waits(Draft& draft);
void add_device_tasks(Draft& draft);
void add_host_tasks(Draft& draft);
void link_device_work(Draft& draft);
/// Ops, layers and annotations around each call.
void add_scopes(Draft& draft);

}  // namespace cohort::trace_graph
