#include "tracer/flow_binder.hpp"

#include <algorithm>
#include <unordered_map>

namespace cohort {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

/// The slices of one track, outer before inner, each with the slice it lies in.
struct NestedTrack {
  std::vector<std::uint32_t> slices;
  std::vector<std::uint32_t> parents;  ///< positions in `slices`
};

class SliceFinder {
 public:
  explicit SliceFinder(const Trace& trace) : trace_(trace), tracks_(trace.tracks.size()) {
    for (std::size_t i = 0; i < trace.slices.size(); ++i)
      tracks_[to_index(trace.slices[i].track)].slices.push_back(static_cast<std::uint32_t>(i));
    for (NestedTrack& track : tracks_) nest(track);
  }

  [[nodiscard]] std::optional<SliceId> find(const FlowEnd& end) const {
    if (end.slice && *end.slice >= 0 && static_cast<std::size_t>(*end.slice) < trace_.slices.size()) {
      const Slice& stated = trace_.slices[static_cast<std::size_t>(*end.slice)];
      if (stated.track == end.track && stated.start == end.time) return static_cast<SliceId>(*end.slice);
    }
    const NestedTrack& track = tracks_[to_index(end.track)];
    const auto after =
        std::upper_bound(track.slices.begin(), track.slices.end(), end.time,
                         [&](Nanoseconds time, std::uint32_t i) { return time < trace_.slices[i].start; });
    if (after == track.slices.begin()) return std::nullopt;
    auto at = static_cast<std::uint32_t>(after - track.slices.begin() - 1);
    while (at != kNone) {
      const Slice& slice = trace_.slices[track.slices[at]];
      if (slice.start == end.time || slice.end() > end.time) return static_cast<SliceId>(track.slices[at]);
      at = track.parents[at];
    }
    return std::nullopt;
  }

 private:
  void nest(NestedTrack& track) const {
    std::sort(track.slices.begin(), track.slices.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Slice& x = trace_.slices[a];
      const Slice& y = trace_.slices[b];
      if (x.start != y.start) return x.start < y.start;
      return x.duration != y.duration ? x.duration > y.duration : a < b;
    });
    std::vector<std::uint32_t> open;
    track.parents.reserve(track.slices.size());
    for (std::uint32_t i = 0; i < track.slices.size(); ++i) {
      const Nanoseconds start = trace_.slices[track.slices[i]].start;
      while (!open.empty() && trace_.slices[track.slices[open.back()]].end() <= start) open.pop_back();
      track.parents.push_back(open.empty() ? kNone : open.back());
      open.push_back(i);
    }
  }

  const Trace& trace_;
  std::vector<NestedTrack> tracks_;
};

struct Starts {
  std::vector<const FlowEnd*> ends;
  bool used = false;

  [[nodiscard]] const FlowEnd& before(Nanoseconds time) const {
    const auto after = std::upper_bound(ends.begin(), ends.end(), time,
                                        [](Nanoseconds t, const FlowEnd* end) { return t < end->time; });
    return after == ends.begin() ? *ends.front() : **(after - 1);
  }
};

}  // namespace

BoundFlows bind_flows(const Trace& trace, const std::vector<FlowEnd>& ends) {
  BoundFlows bound;
  if (ends.empty()) return bound;
  std::unordered_map<StringId, Starts> starts;
  for (const FlowEnd& end : ends) {
    if (end.is_start) starts[end.key].ends.push_back(&end);
  }
  for (auto& [key, group] : starts) {
    std::stable_sort(group.ends.begin(), group.ends.end(),
                     [](const FlowEnd* a, const FlowEnd* b) { return a->time < b->time; });
  }
  const SliceFinder finder(trace);
  for (const FlowEnd& end : ends) {
    if (end.is_start) continue;
    const auto found = starts.find(end.key);
    if (found == starts.end()) {
      ++bound.without_start;
      continue;
    }
    found->second.used = true;
    const auto from = finder.find(found->second.before(end.time));
    const auto to = finder.find(end);
    if (from && to) {
      bound.flows.push_back({*from, *to, end.name});
    } else {
      ++bound.without_slice;
    }
  }
  for (const auto& [key, group] : starts) {
    if (!group.used) bound.without_end += static_cast<std::int64_t>(group.ends.size());
  }
  return bound;
}

}  // namespace cohort
