#pragma once

#include <limits>
#include <vector>

#include "base/device.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A simulated task graph as a timeline; slices of host threads and streams with their slack, flows from launches.
/// `iterations`: of each task so many of the first.
Trace timeline_trace(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device,
                     int iterations = std::numeric_limits<int>::max());

}  // namespace cohort
