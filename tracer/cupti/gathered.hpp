#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tracer/cupti/spool.hpp"
#include "tracer/trace.hpp"

// What the decoder has gathered of one process before its trace is laid out. Private to the decoder.

namespace cohort::cupti {

enum class LaneKind { kThread, kRanges, kOverhead, kStream, kSynchronization };

/// What a lane is of: (process, thread) for a thread, its ranges and overheads; (device, context, stream)
/// for a stream; (context) for synchronisation.
struct LaneKey {
  LaneKind kind{};
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;

  friend bool operator<(const LaneKey& x, const LaneKey& y) {
    return std::tie(x.kind, x.a, x.b, x.c) < std::tie(y.kind, y.a, y.b, y.c);
  }
};

/// A slice before it has a track.
struct Pending {
  Nanoseconds start{};
  Nanoseconds end{};
  StringId name{};
  StringId category{};
  Args args;
  std::uint32_t correlation = 0;
  std::uint64_t node = 0;    ///< of a graph; 0 outside
  bool is_launched = false;  ///< by a call of the same correlation
  bool is_call = false;
};

struct PendingWait {
  LaneKey lane;
  std::size_t slice = 0;  ///< in its lane
  std::uint64_t sync_id = 0;
};

struct OpenRange {
  LaneKey lane;
  Nanoseconds start{};
  StringId name{};
  std::optional<StringId> domain;
};

/// All of one process. Strings are interned in the trace that is made.
struct Gathered {
  std::uint32_t process = 0;
  std::size_t place = 0;  ///< among the processes of the trace
  std::map<LaneKey, std::vector<Pending>> lanes;
  std::map<std::pair<CUpti_CallbackDomain, std::uint32_t>, std::string> call_names;
  std::map<std::uint64_t, Label> labels;
  std::map<std::uint64_t, std::uint64_t> nodes;        ///< graph node -> external id
  std::map<std::uint32_t, std::uint64_t> own_ids;      ///< correlation -> our external id
  std::map<std::uint32_t, std::uint64_t> foreign_ids;  ///< correlation -> another tool's
  std::map<std::uint32_t, std::uint32_t> device_of_context;
  std::map<std::uint32_t, OpenRange> open_ranges;   ///< by marker id
  std::map<std::uint32_t, Nanoseconds> range_ends;  ///< likewise, of those whose begin is yet to come
  std::map<std::uint64_t, EventRecord> events;      ///< by cudaEventSyncId
  std::vector<EventRecord> event_records;
  std::vector<PendingWait> waits;
  std::map<std::uint32_t, Nanoseconds> own_threads;  ///< the tracer's, from these times on
  /// Each process counts its correlation ids from 1; in a trace of several they are told apart.
  [[nodiscard]] std::uint64_t unique_correlation(std::uint32_t id) const { return (std::uint64_t{place} << 32) + id; }

  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> seen;  ///< (correlation, node, start) of work
};

/// Puts what was gathered into the trace: tracks, slices, flows. `several`: more than one process is in it,
/// so that devices are named with theirs.
void lay_out(Gathered& gathered, bool several, Trace& trace);

inline constexpr std::string_view kDroppedTimes = "GPU records without usable times";
inline constexpr std::string_view kDroppedCallTimes = "calls without usable times";
inline constexpr std::string_view kDroppedRanges = "ranges without begin or end";
inline constexpr std::string_view kDroppedTwice = "GPU records that came twice";
inline constexpr std::string_view kUnknownEvent = "waits for events recorded before the trace";
inline constexpr std::string_view kEventWithoutTime = "event records without a time";

}  // namespace cohort::cupti
