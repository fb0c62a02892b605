#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/units.hpp"
#include "executor/backend.hpp"
#include "executor/work_watch.hpp"
#include "models/model.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// For which model batches calls are timed, and for how long.
struct InPlaceOptions {
  std::vector<int> members;  ///< of a model batch; each number is planned for
  Nanoseconds budget{};
  std::function<void(const std::string&)> progress = {};
};

/// Times calls that the planner would make and that take another time in their places: plans each number of members
/// from what the profile holds, runs the members one after another, and then the best plan, for a few steps, and adds
/// what calls took there to the profile; again, as long as that makes another way the best one.
///   - One after another, for calls on one core among calls on all: part of what they read lies in the other cores'
///     caches.
///   - The best plan, for calls of several members. A fused call that was timed alone finds its operands in caches; in
///     a plan they lie where the call of all members ahead of it has left them, and what it writes was last used a
///     whole step ago. Calls of single members between fused ones meet the same, and read parts of stacks.
/// What `watch`, which knows the device from the rest of the profile, does not trust is timed again, a few times at
/// most. `profile` is of the model, with its source and settings (recorded_settings.hpp). Returns whether there was
/// time for all numbers; cancelled, it has what was timed by then. Errors: those of planning and of the device.
Result<bool> time_calls_in_place(Backend& backend, const LoadedModel& loaded, const InPlaceOptions& options,
                                 WorkWatch& watch, const CancelToken& cancel, Trace& profile);

}  // namespace cohort
