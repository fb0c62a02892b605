#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "tracer/cupti_plugin.hpp"

namespace cohort {

struct TraceProgramOptions {
  std::vector<std::string> program;  ///< words of its command line
  bool whole_graphs = false;
  bool latency_timestamps = false;
  bool event_times = false;
  /// Seconds for what its GPUs still do when it ends.
  double end_wait = std::chrono::duration<double>(kEndWait).count();
  bool twice = false;  ///< first without tracing, to say how much tracing changes
  std::filesystem::path output;
};

/// Runs any CUDA program with the tracer injected and writes what it did on the GPU as a trace.
/// Errors: the program's own exit code where it is not 0 (the trace is written first); kDeviceMissing without
/// driver, CUPTI or the tracer's module; kRecordingIncomplete where nothing was recorded.
Result<void> trace_program(const TraceProgramOptions& options, CommandContext& context);

}  // namespace cohort
