#pragma once

#include <string_view>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "tracer/profile_record.hpp"

namespace cohort {

/// One sample of what is no op's time, as profiles hold it; 0 where `time` is less.
ProfileRecord overhead_record(std::string_view signature, Nanoseconds time);

/// Costs of a device that belong to no op: host work around a step of a replay, host work of a
/// single launch, hand-off between streams, how long helper threads spin. Raw repetitions.
/// Errors: those of Backend::load(); kInterrupted.
Result<std::vector<ProfileRecord>> measure_overheads(Backend& backend, const CancelToken& cancel);

}  // namespace cohort
