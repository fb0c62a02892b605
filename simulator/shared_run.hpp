#pragma once

#include <vector>

#include "base/result.hpp"
#include "simulator/simulate.hpp"
#include "simulator/task_graph.hpp"

namespace cohort {

/// Start and end of every task where kernels of one device share its multiprocessors: a kernel asks
/// for the part of them that its blocks fill (Task::waves, at most all); while running kernels ask
/// for more than there is, each goes on at the rate 1 / asked. Everything else takes its duration;
/// first-come resources as in run_flat().
///
///     a asks for 0.75   |=====a======|          alone each would take 8
///     b asks for 0.75       |=====b======|      beside each other both run at 1 / 1.5
///
/// It knows neither order of blocks nor memory: a lower bound on what sharing costs where kernels
/// compete for bandwidth, an upper bound where tails of waves interlock.
/// Complexity: O((tasks + edges) log tasks + kernels x kernels at the same time).
/// Errors: as run_flat().
Result<std::vector<TaskTimes>> run_shared(const TaskGraph& graph);

}  // namespace cohort
