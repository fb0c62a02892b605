#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// State of the device during a timing.
enum class ProfileState {
  kWarm,     ///< as in the middle of a run: caches hold what `footprint` leaves in them
  kFlushed,  ///< nothing of the call lies in the caches, neither weights nor input
  kFirst,    ///< the first execution in the process: kernels are loaded or compiled
  kInModel,  ///< in its place in the whole model, members in turn: `footprint` is what all of them touch
  kInPlan,   ///< in its place in a plan that fuses ops of its members, itself fused or between such calls; likewise
};

/// One timing of one op alone, or of one stage of the input, as a slice of a profile trace. The executor writes these;
/// the simulator derives costs from them.
struct ProfileRecord {
  std::string signature;  ///< signature_of(op), "Copy [shape]", "input decode", "step overhead", ...
  std::string strategy;   ///< as in a plan; what form a fused call has
  int width = 1;          ///< members computed by the call
  int threads = 1;
  std::string algorithm;
  Bytes footprint;     ///< bytes touched between two uses of the same weights
  int neighbours = 0;  ///< cores that ran the same op at the same time
  int around = 0;      ///< in its place: the most threads of a call around it; 0: none has more than itself
  Bytes workspace;
  Bytes packed_weights;
  Nanoseconds time{};
  ProfileState state = ProfileState::kWarm;

  friend bool operator==(const ProfileRecord&, const ProfileRecord&) = default;
};

/// Wall times of a step of one of several members in turn, each with its own weights, and the sum of its ops in such a
/// step including host work, in profiles made within a budget.
inline constexpr std::string_view kWallInTurn = "model in turn";
inline constexpr std::string_view kWallOpsInTurn = "its ops in turn";

/// Setting of a profile: what it had no time for.
inline constexpr std::string_view kLacking = "not timed";

/// Settings of the device of a profile in which ops were not timed: what their times were estimated from, in words for
/// people, and how far off they may be together, a standard deviation in parts of them.
inline constexpr std::string_view kEstimatedFrom = "estimated from";
inline constexpr std::string_view kEstimatedWithin = "estimated within";

/// Setting of the device of predicted and measured traces: kRoundTripRecord of the profile, and while it was measured,
/// in nanoseconds.
inline constexpr std::string_view kRoundTripSetting = "core_round_trip_ns";

/// Signatures of profile records that are not ops. Times of input stages are for one image on one core, the others for
/// one program step or event.
inline constexpr std::string_view kStepOverheadRecord = "step overhead";
inline constexpr std::string_view kLaunchOverheadRecord = "launch overhead";
inline constexpr std::string_view kHandoffRecord = "handoff";
/// The part of an op's time between two device events that the op does not add to a chain of ops. Times in a profile
/// include it; costs do not.
inline constexpr std::string_view kEventOverheadRecord = "event overhead";
inline constexpr std::string_view kSpinTimeRecord = "spin time";
/// In which a cache line goes from one core to another and back, for the pair that is furthest apart: what every op on
/// several cores waits for. Samples of the whole time that profiling took.
inline constexpr std::string_view kRoundTripRecord = "core round trip";
inline constexpr std::string_view kInputReadRecord = "input read";
inline constexpr std::string_view kInputDecodeRecord = "input decode";
inline constexpr std::string_view kInputResizeRecord = "input resize";

/// Whether an algorithm is plain loops, ours ("reference") or those that oneDNN names so ("ref:any", "matmul/ref:any").
bool is_plain_loops(std::string_view algorithm);

inline constexpr std::string_view kProfileCategory = "profile";

/// Appends the record as a slice that starts at `start`.
SliceId add_profile_record(Trace& trace, TrackId track, std::string_view name, Nanoseconds start,
                           const ProfileRecord& record);
/// Absent where the slice is not a profile record, misses an argument, or one is beyond what a device can do.
std::optional<ProfileRecord> profile_record_of(const Trace& trace, const Slice& slice);

}  // namespace cohort
