#pragma once

#include "simulator/transform/change.hpp"

namespace cohort {

/// Tasks that become one, and how long it takes.
struct Fusion {
  Selection tasks;         ///< the first of them stays, on its resource and at its position
  Nanoseconds duration{};  ///< of the fused task
  float waves = 0;         ///< of the fused task
};

/// Makes the tasks of each fusion one, which waits for all they waited for, and which all wait for that
/// waited for one of them. Of edges between the same two tasks the longest delay stays.
/// Errors: kInvalidInput naming the cycle that a fusion would close, as when one task waits for
/// another of the same fusion through a third; then the graph is left as it was.
Result<Change> merge(TaskGraph& graph, std::span<const Fusion> fusions);

/// Lets several members use one member's part: each group lists the tasks that do the same for each
/// member; the first stays, the others go, and what waited for them waits for it. What only the
/// others waited for is waited for no longer.
/// Errors: as merge().
Result<Change> share(TaskGraph& graph, std::span<const Selection> groups);

/// Groups the selected tasks that were recorded as one slice, copies of each other in different members:
/// in order of slice, each group in order of id. Tasks without a second copy are left out.
std::vector<Selection> groups_across_members(const TaskGraph& graph, const Selection& selection);

}  // namespace cohort
