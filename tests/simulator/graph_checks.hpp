#pragma once

#include <optional>
#include <vector>

#include "simulator/engine/flat_run.hpp"
#include "simulator/transform/edit.hpp"

/// What tests ask of a task graph before and after it was transformed.
namespace cohort {

/// By task; fails the test where the graph cannot be run.
std::vector<TaskTimes> run_times(const TaskGraph& graph);
Nanoseconds last_end(const std::vector<TaskTimes>& times);

/// [a][b]: b waits for a, through edges and queues.
using Reach = std::vector<std::vector<bool>>;
Reach reach_of(const TaskGraph& graph);

/// Expects that the change counts what it did, and that `after` has no cycle.
void expect_counted(const TaskGraph& before, const TaskGraph& after, const Change& change);

/// Where each task is now: itself where ids did not change.
std::vector<std::optional<TaskId>> moved(const TaskGraph& before, const Change& change);

}  // namespace cohort
