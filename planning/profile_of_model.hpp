#pragma once

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/profile/profile.hpp"
#include "models/model.hpp"
#include "models/source.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// A profile to plan with: profile_model(), what it is of among its settings, and within a budget the calls that plans
/// of as many members as `options.fused_widths` would make, timed in their places (calls_in_place.hpp), for which a
/// part of the budget is kept.
/// Errors: those of profile_model() and time_calls_in_place().
Result<Trace> profile_to_plan_with(Backend& backend, const LoadedModel& loaded, const ModelSource& source,
                                   ProfileOptions options, const CancelToken& cancel);

}  // namespace cohort
