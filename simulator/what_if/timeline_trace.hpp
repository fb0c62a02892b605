#pragma once

#include <optional>
#include <vector>

#include "base/device.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A simulated task graph as a timeline; slices of host threads and streams with their slack, flows from launches.
/// Of tasks of an iteration that is not below `iterations` there are none.
Trace timeline_trace(const TaskGraph& graph, const std::vector<TaskTimes>& times, const DeviceInfo& device,
                     std::optional<int> iterations = std::nullopt);

}  // namespace cohort
