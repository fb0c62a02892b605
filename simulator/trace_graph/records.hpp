#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/engine/task_graph.hpp"
#include "tracer/call_kind.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A call of the driver or runtime that no other call encloses.
struct RecordedCall {
  SliceId slice{};
  Nanoseconds start{};
  Nanoseconds end{};
  std::uint32_t thread = 0;
  CallKind kind = CallKind::kOther;
  bool synchronous = false;  ///< its name says that it returns after the work it launched
};

/// A kernel, copy or memset.
struct RecordedOp {
  SliceId slice{};
  Nanoseconds start{};
  Nanoseconds end{};
  std::uint32_t stream = 0;
  TaskKind kind = TaskKind::kKernel;
  bool pageable = false;              ///< a copy from or to pageable memory
  std::optional<std::uint32_t> call;  ///< that launched it
};

/// What a record of a synchronisation adds to the call of the same correlation id.
struct RecordedSync {
  std::optional<std::uint32_t> stream;                ///< that waits, or is waited for
  std::optional<std::uint32_t> source;                ///< stream on which the event was recorded
  std::optional<std::int64_t> record_correlation;     ///< of the call that recorded the event
  std::optional<std::int64_t> event_synchronisation;  ///< id of the event's one recording; event ids repeat
  std::optional<std::int64_t> device;                 ///< that is waited for
};

struct RecordedStream {
  std::int64_t device = 0;
  std::int64_t context = 0;
  std::int64_t stream = 0;
  std::optional<std::int64_t> process;  ///< that launches on it: each numbers its contexts and streams from the start
};

/// The slices of a trace that replay is made of, in order of time.
struct Records {
  std::vector<TrackId> threads;         ///< host threads that call
  std::vector<std::int64_t> processes;  ///< by thread
  std::vector<RecordedStream> streams;
  std::vector<RecordedCall> calls;                          ///< by start
  std::vector<RecordedOp> ops;                              ///< by start
  std::unordered_map<std::uint32_t, RecordedSync> syncs;    ///< by call
  std::unordered_map<std::int64_t, std::uint32_t> call_of;  ///< by correlation id
  /// By process, which each count from the start, and event synchronisation id: the call.
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> event_recordings;
  std::size_t nested_calls = 0;  ///< dropped: within another call
  bool creates_blocking_streams = false;

  [[nodiscard]] std::int64_t process_of(const RecordedCall& call) const { return processes[call.thread]; }
};

/// Reads what a GPU trace recorded; spellings of PyTorch's profiler and of HIP.
Records read_records(const Trace& trace);

}  // namespace cohort
