#pragma once

#include <vector>

#include "base/device.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A simulated task graph as a timeline; slices of host threads and streams with their slack, flows from launches.
Trace timeline_trace(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device);

}  // namespace cohort
