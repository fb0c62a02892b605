#pragma once

#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// Costs of a device that belong to no op: host work around a step of a replay, host work of a
/// single launch, hand-off between streams, how long helper threads spin. Raw repetitions.
/// Errors: those of Backend::load(); kInterrupted.
Result<std::vector<ProfileRecord>> measure_overheads(Backend& backend, const CancelToken& cancel);

}  // namespace cohort
