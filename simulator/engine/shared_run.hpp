#pragma once

#include <vector>

#include "base/result.hpp"
#include "simulator/engine/gpu_work.hpp"
#include "simulator/engine/simulate.hpp"
#include "simulator/engine/task_graph.hpp"

namespace cohort {

/// Start and end of every task where the kernels of one GPU share it: by the engine where `gpu` says what they ask
/// of it, else by the part of it that each one fills (device_run.hpp):
///
///     a asks for 0.75   |=====a======|          alone each would take 8
///     b asks for 0.75       |=====b======|      beside each other both run at 1 / 1.5
///
/// Everything else takes its duration; first-come resources as in run_flat(). A kernel's recorded
/// overlap with the next one counts from its start, because its end is not known before it comes.
/// Complexity: O((tasks + edges) log tasks), and for each kernel what the device takes.
/// Errors: as run_flat().
Result<std::vector<TaskTimes>> run_shared(const TaskGraph& graph, const GpuWork* gpu = nullptr);

}  // namespace cohort
