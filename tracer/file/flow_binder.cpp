#include "tracer/file/flow_binder.hpp"

#include <algorithm>
#include <utility>

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

/// Starts of flows by key and time; of equal ones in the file's order.
class FlowStarts {
 public:
  explicit FlowStarts(const std::vector<FlowEnd>& ends) {
    for (const FlowEnd& end : ends) {
      if (end.is_start) starts_.push_back(&end);
    }
    used_.resize(starts_.size());
    std::stable_sort(starts_.begin(), starts_.end(), [](const FlowEnd* a, const FlowEnd* b) {
      return a->key != b->key ? a->key < b->key : a->time < b->time;
    });
  }

  /// The latest start of the key that is not after the time, else its first; null where it has none.
  const FlowEnd* take(const FlowKey& key, Nanoseconds time) {
    const auto first = std::lower_bound(starts_.begin(), starts_.end(), key,
                                        [](const FlowEnd* end, const FlowKey& wanted) { return end->key < wanted; });
    if (first == starts_.end() || (*first)->key != key) return nullptr;
    used_[static_cast<std::size_t>(first - starts_.begin())] = true;
    const auto after =
        std::upper_bound(first, starts_.end(), std::pair(&key, time), [](const auto& wanted, const FlowEnd* end) {
          return *wanted.first != end->key ? *wanted.first < end->key : wanted.second < end->time;
        });
    return after == first ? *first : *(after - 1);
  }

  /// Starts of keys of which none was taken.
  [[nodiscard]] std::int64_t unused() const {
    std::int64_t count = 0;
    bool used = false;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      if (i == 0 || starts_[i]->key != starts_[i - 1]->key) used = used_[i];
      count += used ? 0 : 1;
    }
    return count;
  }

 private:
  std::vector<const FlowEnd*> starts_;
  std::vector<bool> used_;  ///< at the first start of each key
};

}  // namespace

BoundFlows bind_flows(const Trace& trace, const std::vector<FlowEnd>& ends) {
  BoundFlows bound;
  if (ends.empty()) return bound;
  FlowStarts starts(ends);
  const SliceFinder finder(trace);
  for (const FlowEnd& end : ends) {
    if (end.is_start) continue;
    const FlowEnd* start = starts.take(end.key, end.time);
    if (start == nullptr) {
      ++bound.without_start;
      continue;
    }
    const auto from = finder.find(*start);
    const auto to = finder.find(end);
    if (from && to) {
      bound.flows.push_back({*from, *to, end.key.name});
    } else {
      ++bound.without_slice;
    }
  }
  bound.without_end = starts.unused();
  return bound;
}

}  // namespace cohort
