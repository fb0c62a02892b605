#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/device.hpp"
#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct TrackSummary {
  std::string process;
  std::string thread;
  std::int64_t slices = 0;
  Nanoseconds busy{};      ///< time in which at least one slice runs, nested slices counted once
  double busy_share = 0;   ///< of the whole trace's span, 0 to 1
  bool is_device = false;  ///< has kernels or copies; `busy` then counts those alone
};

struct CategorySummary {
  std::string name;
  std::int64_t slices = 0;
  Nanoseconds time{};  ///< sum of durations, nested slices counted again
};

struct WallSummary {
  std::string what;
  std::int64_t samples = 0;
  int discarded = 0;
  Nanoseconds median{};
  Nanoseconds least{};
  Nanoseconds most{};
};

/// What a trace holds, in numbers.
struct TraceSummary {
  TraceKind kind = TraceKind::kRecorded;
  DeviceInfo device;
  std::map<std::string, std::string> settings;
  bool has_plan = false;
  Nanoseconds start{};
  Nanoseconds span{};  ///< first start to last end
  std::int64_t slices = 0;
  std::int64_t flows = 0;
  std::int64_t counters = 0;
  std::vector<TrackSummary> tracks;         ///< in the trace's order
  std::vector<CategorySummary> categories;  ///< most time first
  Nanoseconds active{};                     ///< time in which a device track is busy; without such, any track
  Nanoseconds overlapped{};                 ///< time in which two or more of those are
  std::vector<WallSummary> wall_times;
  std::map<std::string, std::int64_t> dropped;
};

/// Time: O(n log n) in the slices.
TraceSummary summarize(const Trace& trace);

/// Some lines of text for people: the three parts below, one after another.
std::string format_summary(const TraceSummary& summary);
std::string format_summary_head(const TraceSummary& summary);    ///< kind, device, settings, span, counts
std::string format_summary_tracks(const TraceSummary& summary);  ///< tracks and categories
std::string format_summary_rest(const TraceSummary& summary);    ///< wall times, what was not kept

}  // namespace cohort
