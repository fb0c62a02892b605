#pragma once

#include "simulator/transform/change.hpp"

namespace cohort {

/// Lets launches of one kernel that hold the driver's lock (hold_shared_engines()) hold it only in the last part of
/// their time, so that launches of several threads go on beside each other before that. What comes before is host work:
///
///     thread 0   |own  |lock|
///     thread 1   |own  |    |lock|
///
/// Where the kernel starts sooner than that, the lock is held from then on: a free lock delays nobody. No two tasks of
/// a queue may have one position, as replicate() leaves them. Positions change, their order does not. Errors:
/// kInvalidInput for a part that is not from 0 to 1.
Result<Change> shorten_locks(TaskGraph& graph, double lock_part);

}  // namespace cohort
