#include "tracer/checked_plan_record.hpp"

#include <algorithm>
#include <array>

namespace cohort {
namespace {

constexpr std::string_view kTrack = "checked plans";
constexpr std::string_view kBaselineArg = "baseline_ns";

TrackId track_of(Trace& profile) {
  const auto found = std::find_if(profile.tracks.begin(), profile.tracks.end(),
                                  [](const Track& track) { return track.thread == kTrack; });
  if (found == profile.tracks.end()) return profile.add_track("profile", std::string(kTrack));
  return static_cast<TrackId>(found - profile.tracks.begin());
}

/// The slice of the same plan; null where it was not checked before.
Slice* slice_of(Trace& profile, std::string_view plan) {
  const auto category = profile.strings.find(kCheckedPlanCategory);
  const auto found = std::find_if(profile.slices.begin(), profile.slices.end(), [&](const Slice& slice) {
    return slice.category == category && profile.text_arg(slice, "plan") == plan;
  });
  return found == profile.slices.end() ? nullptr : &*found;
}

/// Slices of the track one after another, as those of a profile are.
void close_gaps(Trace& profile, TrackId track) {
  Nanoseconds start{};
  for (Slice& slice : profile.slices) {
    if (slice.track != track) continue;
    slice.start = start;
    start = slice.end();
  }
}

}  // namespace

void add_checked_plan(Trace& profile, const CheckedPlanRecord& record) {
  const TrackId track = track_of(profile);
  if (Slice* const known = slice_of(profile, record.plan)) {
    known->duration = record.step;
    known->name = profile.strings.intern(record.name);
    const StringId key = profile.strings.intern(kBaselineArg);
    for (auto& [name, value] : profile.args[to_index(*known->args)]) {
      if (name == key) value = std::int64_t{record.baseline.count()};
    }
    close_gaps(profile, track);
    return;
  }
  Nanoseconds start{};
  for (const Slice& slice : profile.slices) {
    if (slice.track == track) start = std::max(start, slice.end());
  }
  const std::array<Trace::NamedArg, 2> args = {{
      {"plan", std::string_view(record.plan)},
      {kBaselineArg, std::int64_t{record.baseline.count()}},
  }};
  profile.add_slice(track, record.name, kCheckedPlanCategory, start, record.step, args);
}

std::vector<CheckedPlanRecord> checked_plans_of(const Trace& profile) {
  std::vector<CheckedPlanRecord> records;
  const auto category = profile.strings.find(kCheckedPlanCategory);
  if (!category) return records;
  for (const Slice& slice : profile.slices) {
    if (slice.category != *category) continue;
    const auto plan = profile.text_arg(slice, "plan");
    const auto baseline = profile.integer_arg(slice, kBaselineArg);
    if (!plan || !baseline || *baseline <= 0 || slice.duration <= Nanoseconds(0)) continue;
    records.push_back({std::string(profile.name(slice)), std::string(*plan), slice.duration, Nanoseconds(*baseline)});
  }
  return records;
}

}  // namespace cohort
