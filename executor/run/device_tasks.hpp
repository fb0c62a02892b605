#pragma once

#include <span>
#include <string>

#include "base/units.hpp"
#include "simulator/plan/program.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What a DeviceTracer recorded of `program`, and how to read it.
struct DeviceRecording {
  Trace trace;                          ///< times of steady_now()
  Nanoseconds from{};                   ///< what began before is left out: setting up, and a first step to warm up
  int iterations = 1;                   ///< steps of the whole model batch since then
  std::span<const std::string> groups;  ///< names of the plan's groups
};

/// A trace with a slice for each task and iteration, from the start of the task's first kernel or copy to the end of
/// its last, on a track for each stream of the Program, as TraceSink writes them; what was recorded stands beside them
/// on tracks of its own. Times count from `from`.
///
/// Recorded work names its task by kOfTaskArg instead of kTaskArg: a task of several kernels is one task. Runs of a
/// task are numbered in order of their start. Tasks of which less was recorded than they ran are counted in
/// TraceInfo::dropped.
Trace with_tasks(const Program& program, DeviceRecording recording);

}  // namespace cohort
