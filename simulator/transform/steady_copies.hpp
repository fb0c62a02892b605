#pragma once

#include <optional>
#include <vector>

#include "simulator/engine/simulate.hpp"

namespace cohort {

/// The makespan of `wanted` copies of a graph in whole turns, as replicate() makes them, from the times of its first
/// `copies`: exact, or absent where these have not settled yet.
///
/// A task starts as soon as everything before it lets it, and of the copies only the one before has a say. Say the
/// last two copies' starts differ by p[t] for task t, never below 0. Where for each task of the last copy nothing
/// before it differs by more than p[t], and what made it wait differs by just that, the next copy's starts differ by p
/// as well, and so on: each limit of t moves by p[t] at most, and the one that held it by p[t]. Tasks need not have the
/// same p: a host that runs ahead of its device gains on it with each copy. Absent as well where tasks share cores, and
/// where neither a stream nor a queue keeps the order of what is served first come.
///
/// `graph`: copies that are alike, tasks and edges of one after those of the one before, but for the edges between
/// copies. `copies`: at least 2.
std::optional<Nanoseconds> makespan_of_copies(const TaskGraph& graph, const std::vector<TaskTimes>& times, int copies,
                                              int wanted);

}  // namespace cohort
