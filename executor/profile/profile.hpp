#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "executor/backend.hpp"
#include "executor/device_tracer.hpp"
#include "executor/profile/op_case.hpp"
#include "executor/work_watch.hpp"
#include "models/model.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct WantedCase;

struct ProfileOptions {
  Precision precision = Precision::kFloat32;  ///< in which everything is timed
  Layout layout = Layout::kNhwc;              ///< of images, in everything that is timed
  std::vector<int> fused_widths{4, 16};       ///< widths at which fused forms are timed; empty: none
  /// Footprints at which weights are timed, beside that of one call: bytes touched between two uses. Absent:
  /// usual_footprints() of the device.
  std::optional<std::vector<Bytes>> footprints;
  int most_copies = 256;
  /// Of each op, in the library's order, the last one that with the least workspace. Absent: all that a CPU lists, 3 of
  /// a GPU, where each takes long to load and fewer lie near the best.
  std::optional<int> most_alternatives;
  /// Time for all of it. Then ops are timed in their model first, all of them in one run, and alone only where that
  /// tells a plan something, most of the model's time first; what there is no time for stands in the setting kLacking.
  /// Absent: everything is timed alone, however long it takes.
  std::optional<Nanoseconds> budget;
  TimingLimits limits;  ///< of a case, over all passes; without a budget
  /// Passes over all cases among which the time of each is divided: a machine that is disturbed for a while, as one
  /// that shares its cores with others, then spoils a part of every case's samples and not all samples of some.
  int passes = 5;
  /// Samples that it does not trust are left out where a case has others; null: one of its own, of core_probe().
  WorkWatch* watch = nullptr;
  /// Records the kernels of each op, alternative and fused form, and of the whole model; null: they are not recorded.
  DeviceTracer* tracer = nullptr;
  /// Measures more into the profile before kernels are recorded: a tracer can slow what comes after it. May be empty.
  std::function<Result<void>(Trace&)> more;
  /// Told what is being timed: "conv1 (3 of 8)". Empty: nobody is told.
  std::function<void(const std::string&)> progress;
};

/// How many members a profile made within a budget timed in turn: a setting of its trace.
inline constexpr std::string_view kTurns = "members in turn";

/// In which a profile of the model tells most of what it can: 9 s, a tenth of a second for each distinct op where it
/// has more than 90, at most 27 s.
Nanoseconds usual_budget(const Model& model);

/// Times each distinct op of a model alone: every alternative, one thread and all, warm and with
/// weights gone from the caches, beside itself on every core, and fused at the widths asked for; the first execution of
/// each alternative and form; on a GPU each also with everything gone from the caches;
/// the device's overheads, and the whole model with and without a trace. Never a model batch.
///
/// With a tracer, everything is timed first; then each case runs a few times more with kernels recorded, which follow
/// as slices of their own (executor/profile/kernels.hpp).
///
/// A way that the device lists and then fails to run is left out and counted in what the trace dropped, with op and
/// reason; an op of which no way runs ends the profile.
///
/// Returns a Trace of kind kProfile with one slice per sample (at most 15 per case, evenly spaced
/// order statistics) and wall times "model untraced" and "model traced", with a tracer also "model before tracing"
/// (executor/profile/kernels.hpp).
/// Within a budget: the whole model on all cores and on one, every op's ways in it, members in turn; then ops alone.
/// Once that has begun to tell something, a cancelled profile is returned as far as it went.
///
/// Errors: those of lower() and Backend::load(); kInterrupted.
Result<Trace> profile_model(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                            const CancelToken& cancel);

/// What was added to a profile.
struct AddedTimings {
  std::size_t records = 0;
  std::size_t tried = 0;              ///< calls that there was time for, the first ones
  std::vector<std::string> left_out;  ///< of those, what the device did not run: op, way and reason
};

/// Times calls that a profile of the model lacks, and adds them to it. `options` are those that it was made with; its
/// budget is for these calls alone. Cancelled, it has what was timed by then; a call that fails is left out, and
/// counted in what the profile dropped. Once timed, another way to make a call may look faster than the one that was:
/// whoever adds for a plan asks again what it needs.
/// Errors: kInvalidInput naming an op that the model does not have.
Result<AddedTimings> add_to_profile(Backend& backend, const LoadedModel& loaded, const ProfileOptions& options,
                                    std::span<const WantedCase> wanted, const CancelToken& cancel, Trace& profile);

/// Adds what the watch has seen of the way from core to core, from its probe number `from` on.
void add_round_trips(Trace& trace, const WorkWatch& watch, std::size_t from);

/// Adds records to a profile as slices, cases one after another on a track of their own.
void add_profile_records(Trace& trace, std::string_view track, std::string_view name,
                         const std::vector<ProfileRecord>& records);

}  // namespace cohort
