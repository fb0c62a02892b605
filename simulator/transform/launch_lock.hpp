#pragma once

#include "simulator/transform/change.hpp"

namespace cohort {

/// Lets launches that hold the driver's lock (hold_shared_engines()) hold it only in the last part of their time, so
/// that launches of several threads go on beside each other before that:
///
///     thread 0   |own  |lock|
///     thread 1   |own  |    |lock|
///
/// Work that starts some time after its launch began starts that much after the two parts began, too. Positions of
/// tasks change, their order does not.
/// Errors: kInvalidInput for a part that is not from 0 to 1.
Result<Change> shorten_locks(TaskGraph& graph, double lock_part);

}  // namespace cohort
