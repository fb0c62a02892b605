#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "tracer/steps/steps.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Middle and upper tail of some times.
struct TimeSpread {
  std::int64_t count = 0;
  Nanoseconds median{};
  Nanoseconds p90{};
};

struct StreamSummary {
  std::string name;  ///< "GPU 0 / stream 7"
  std::int64_t kernels = 0;
  std::int64_t copies = 0;  ///< and memsets
  Nanoseconds busy{};       ///< time in which at least one runs
};

struct KernelSummary {
  std::string name;
  std::int64_t calls = 0;
  Nanoseconds time{};
};

/// How a host gets work to its device.
struct LaunchSummary {
  std::int64_t launches = 0;        ///< calls that put work on a stream
  std::int64_t graph_launches = 0;  ///< those of whole graphs among them
  std::int64_t threads = 0;         ///< that made them
  TimeSpread call;                  ///< duration of such a call
  TimeSpread idle_start;            ///< from the call's start to the kernel's, on a stream idle at the call
  TimeSpread busy_gap;              ///< from one kernel's end to the next one's start, that was waiting
  std::int64_t overlapping = 0;     ///< kernels that start before the one before on their stream ends
  double waiting_share = 0;         ///< of linked kernels, those that found their stream idle, 0 to 1
};

/// How much a shortcoming of the trace weakens predictions.
enum class Severity { kNote, kLowers, kPrevents };
/// The aspect of a prediction that it affects.
enum class Bearing {
  kTimes,        ///< of tasks, their order, and which there are
  kSharing,      ///< how kernels run beside each other
  kCollectives,  ///< what is known of these
  kOverlap,      ///< what kernels that ran beside others take alone
  kOrphans,      ///< when work without a call starts
  kDevice,       ///< on which it all ran
};
struct Shortcoming {
  Severity severity = Severity::kNote;
  std::string what;    ///< is missing or odd
  std::string effect;  ///< on predictions
  Bearing bearing = Bearing::kTimes;
};

/// What a GPU trace offers for predictions.
struct GpuSummary {
  std::int64_t kernels = 0;
  std::int64_t different_kernels = 0;  ///< by name
  Nanoseconds kernel_time{};           ///< sum of durations
  std::int64_t copies = 0;
  std::int64_t memsets = 0;
  Nanoseconds copy_time{};                 ///< of copies and memsets, sum of durations
  std::int64_t graphs = 0;                 ///< recorded as a whole
  std::optional<TimeWindow> active;        ///< from the first device work's start to the last one's end
  Nanoseconds busy{};                      ///< time in which any device work runs
  Nanoseconds overlapped{};                ///< time in which streams of one device run work at the same time
  std::vector<StreamSummary> streams;      ///< most busy first
  std::vector<KernelSummary> top_kernels;  ///< at most five, most time first
  LaunchSummary launch;
  std::int64_t orphans = 0;     ///< device work whose call is not in the trace
  std::int64_t idle_calls = 0;  ///< launch calls whose work is not in the trace
  std::int64_t without_op = 0;  ///< device work that no operator or annotation holds
  StepList steps;
  std::vector<Shortcoming> shortcomings;  ///< worst first

  /// "high", "medium" or "low"; "none" where nothing can be predicted.
  [[nodiscard]] std::string_view confidence() const;
};

std::string_view to_string(Severity severity);

/// Absent where the trace holds no device work. Time: O(n log n).
std::optional<GpuSummary> summarize_gpu(const Trace& trace);

/// Some lines of text for people.
std::string format_gpu_summary(const GpuSummary& summary);

}  // namespace cohort
