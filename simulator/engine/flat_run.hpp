#pragma once

#include <vector>

#include "base/result.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// Start and end of every task where each takes its duration, nothing shared; slack is not filled
/// in. Flat lists go straight to compressed rows.
///
/// Without first-come resources the schedule is the longest path and needs no clock: O(tasks +
/// edges). With them a heap keyed on the feasible start decides who comes first, of several who was ready first, then
/// ties by id; a task whose resource was taken meanwhile is put back: O((tasks + edges) log tasks).
/// Errors: as order_tasks().
Result<std::vector<TaskTimes>> run_flat(const TaskGraph& graph);

}  // namespace cohort
