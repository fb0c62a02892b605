#pragma once

#include "simulator/transform/change.hpp"

namespace cohort {

// The primitives of Daydream (Zhu et al., "Daydream: Accurately Estimating the Efficacy of
// Optimizations for DNN Training", USENIX ATC 2020). Each leaves the graph as it was where it fails.

/// Makes tasks `times_faster` as fast. Errors: kInvalidInput for a factor that is not positive.
Result<Change> scale(TaskGraph& graph, const Selection& selection, double times_faster);

/// Adds a task with its edges; ends given as `to` of an edge into it, or `from` of one out of it, are the new
/// task where they are `graph.tasks.size()`.
/// Errors: kInvalidInput naming the cycle that it would close.
Result<Change> insert(TaskGraph& graph, const Task& task, std::span<const Edge> edges);

enum class Removal {
  kBridge,  ///< what waited for a removed task waits for what that had waited for, delays added up
  kCut,     ///< what waited for it waits for it no longer
};

/// Removes tasks. Bridging takes O(edges into x edges out of) for each removed task.
/// Errors: as mask_of().
Result<Change> remove(TaskGraph& graph, const Selection& selection, Removal removal);

/// Moves tasks to another resource, at their positions. Where edges order the tasks of a stream, those
/// of the moved tasks are made anew: they leave the order of the old stream closed behind them, and
/// follow, `gap` after its end, the op before them on the new one.
/// Errors: kInvalidInput naming the cycle that it would close.
Result<Change> reschedule(TaskGraph& graph, const Selection& selection, ResourceId resource, Nanoseconds gap);

/// Orders the ops of an overlapping stream by position, `gap` apart, where edges do not yet. Only tasks
/// for which `chosen` holds get edges to their neighbours.
std::size_t chain_stream(TaskGraph& graph, ResourceId stream, const std::vector<bool>& chosen, Nanoseconds gap);

}  // namespace cohort
