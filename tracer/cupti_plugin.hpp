#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct CuptiOptions {
  /// One record per graph launch instead of one per node: cheaper, but it hides the nodes.
  bool whole_graphs = false;
  /// When launches were queued and submitted; must be asked for before CUDA starts.
  bool latency_timestamps = false;
  /// The device's time of each event; each costs a little.
  bool event_times = false;
  /// NVTX ranges, on tracks and as labels of what is launched in them. Not used by a session that pushes its own
  /// labels.
  bool ranges = true;
  /// Detach CUPTI from the process when the recording ends (cuptiFinalize). Without it, later work is 10 to 20% slower.
  /// With it, graphs captured before must not be replayed: some releases of CUPTI fail there.
  bool detach = false;
};

/// A recording in this process, from start to stop(). At most one at a time. The sink of a GPU session pushes a label
/// before the launches of a step and pops it afterwards. Kernels then carry task, op, members and the label's id
/// (tracer/device_work.hpp), also those of captured graphs, at every replay.
class CuptiSession {
 public:
  CuptiSession() = default;
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;
  virtual ~CuptiSession() = default;

  /// Says what launches with `id` are for.
  virtual void label(std::uint64_t id, const std::string& task, const std::string& op, const std::string& members) = 0;
  /// Launches and captures of this thread get `id` until pop(). Call from any thread.
  virtual void push(std::uint64_t id) noexcept = 0;
  virtual void pop() noexcept = 0;
  /// Ends the recording. The device must have been synchronised: CUPTI does not. Times are those of the steady clock;
  /// the setting "clock drift ns" says how far the two clocks drifted apart during the recording.
  /// Errors: kRecordingIncomplete naming call and status where CUPTI did not deliver.
  virtual Result<Trace> stop() = 0;
};

/// The border between a program and the plugin "cupti". The same library is what `CUDA_INJECTION64_PATH` names for
/// other programs: started there, it writes a spool to $COHORT_TRACE_SPOOL.<process id> as it goes ("<process id>-2"
/// and on where the process has become another program), with $COHORT_CUPTI_LIBRARY as libcupti where none is loaded
/// and options "graphs", "latency", "events" and "wait=MILLISECONDS" in $COHORT_TRACE_OPTIONS. When the program ends it
/// waits at most that long (default kEndWait) for its GPUs to finish. If they do not, the recording is incomplete, and
/// says so here and on standard error.
struct CuptiPlugin {
  /// Errors: kDeviceMissing where there is no driver or GPU, CUPTI is of another version than this build,
  /// or another tool holds it (the message names the tool).
  Result<std::unique_ptr<CuptiSession>> (*start)(const CuptiOptions& options);
  /// The trace of the spools of one or several processes; unreadable ones are counted as dropped. Needs no driver.
  /// Errors: kInvalidInput where none can be read.
  Result<Trace> (*decode)(const std::vector<std::string_view>& spools);
  /// The version of libcupti, "13.0.1". Needs no driver. Errors: kDeviceMissing where it is not here, or of another
  /// version than this build (the message has both).
  Result<std::string> (*version)() = nullptr;
};

using CuptiPluginEntry = const CuptiPlugin*();
inline constexpr const char* kCuptiPluginEntry = "cohort_cupti_plugin";
inline constexpr std::string_view kCuptiLibrary = "libcupti.so.13";
inline constexpr const char* kTraceSpoolVariable = "COHORT_TRACE_SPOOL";
inline constexpr const char* kTraceOptionsVariable = "COHORT_TRACE_OPTIONS";
inline constexpr const char* kCuptiLibraryVariable = "COHORT_CUPTI_LIBRARY";
/// Option of $COHORT_TRACE_OPTIONS, followed by milliseconds.
inline constexpr std::string_view kEndWaitOption = "wait=";
inline constexpr std::chrono::milliseconds kEndWait{5000};
/// How the reason begins under which a trace counts contexts that were still working when their program ended.
inline constexpr std::string_view kUnfinishedContexts = "contexts whose work did not come to an end";

}  // namespace cohort
