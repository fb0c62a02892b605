#pragma once

#include <vector>

#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// Start and end of every task where tasks share what they run on: cores, the multiprocessors of a GPU, its copy
/// engines (shared_device.hpp). Everything else takes its duration; slack is not filled in.
///
/// A task starts when every edge, its place in its queue and the first-come resources that it needs allow it; of
/// several that wait for such a resource the one that was ready first, ties by id. At one moment ends come before
/// starts. A recorded overlap with the next task counts from its start, because its end is not known before it comes.
///
/// `order` is the graph's; `options.gpu` was checked by check_gpu_work().
/// Complexity: O((tasks + edges) log tasks), and for each task on a shared device what runs beside it.
std::vector<TaskTimes> run_events(const TaskGraph& graph, const TaskOrder& order, const SimulationOptions& options);

}  // namespace cohort
