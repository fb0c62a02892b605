#include "tracer/summary/launches.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include "tracer/correlation_ids.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

/// What encloses a call on its thread.
struct Enclosing {
  std::optional<SliceId> op;
  std::optional<SliceId> outer_op;
  std::optional<SliceId> annotation;
};

struct Call {
  std::int64_t correlation = 0;
  Nanoseconds start{};
  SliceId slice{};
};

class Linker {
 public:
  explicit Linker(const Trace& trace)
      : trace_(trace), kinds_(trace.strings), correlations_(trace), external_(trace.strings.find("External id")) {}

  std::vector<LaunchedWork> link() {
    collect();
    enclose();
    std::vector<LaunchedWork> out;
    out.reserve(work_.size());
    for (const SliceId work : work_) out.push_back(link(work));
    return out;
  }

 private:
  void collect() {
    for (std::uint32_t i = 0; i < trace_.slices.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      const SliceKind kind = kinds_(slice);
      const auto id = static_cast<SliceId>(i);
      if (is_device_work(kind)) work_.push_back(id);
      if (is_call(kind)) {
        if (const auto correlation = correlations_.of(slice)) calls_.push_back({*correlation, slice.start, id});
      }
      if (kind == SliceKind::kOp) {
        if (const auto external = trace_.integer_arg(slice, external_)) ops_by_external_.try_emplace(*external, id);
      }
      if (kind == SliceKind::kOp || kind == SliceKind::kAnnotation || is_call(kind)) host_.push_back(id);
    }
    std::sort(work_.begin(), work_.end(), [&](SliceId a, SliceId b) {
      const Slice& x = trace_.slice(a);
      const Slice& y = trace_.slice(b);
      return std::tie(x.track, x.start, a) < std::tie(y.track, y.start, b);
    });
    std::sort(calls_.begin(), calls_.end(), [](const Call& a, const Call& b) {
      return std::tie(a.correlation, a.start, a.slice) < std::tie(b.correlation, b.start, b.slice);
    });
  }

  /// Walks each thread in time, outer slices before inner ones, with a stack of what is open.
  void enclose() {
    std::sort(host_.begin(), host_.end(), [&](SliceId a, SliceId b) {
      const Slice& x = trace_.slice(a);
      const Slice& y = trace_.slice(b);
      return std::tuple(x.track, x.start, -x.duration.count(), a) <
             std::tuple(y.track, y.start, -y.duration.count(), b);
    });
    std::vector<std::pair<Nanoseconds, Enclosing>> open;  // end, and what one is inside of until then
    std::optional<TrackId> track;
    for (const SliceId id : host_) {
      const Slice& slice = trace_.slice(id);
      if (track != slice.track) open.clear();
      track = slice.track;
      while (!open.empty() && open.back().first <= slice.start) open.pop_back();
      Enclosing inside = open.empty() ? Enclosing{} : open.back().second;
      const SliceKind kind = kinds_(slice);
      if (is_call(kind)) {
        enclosing_.emplace(id, inside);
        continue;
      }
      if (kind == SliceKind::kOp) {
        inside.op = id;
        if (!inside.outer_op) inside.outer_op = id;
      } else {
        inside.annotation = id;
      }
      open.emplace_back(slice.end(), inside);
    }
  }

  [[nodiscard]] LaunchedWork link(SliceId id) const {
    LaunchedWork linked{id, std::nullopt, std::nullopt, std::nullopt, std::nullopt};
    const Slice& slice = trace_.slice(id);
    if (const auto correlation = correlations_.of(slice)) linked.call = call_of(*correlation, slice.start);
    if (linked.call) {  // every one of them was walked by enclose()
      const Enclosing& inside = enclosing_.at(*linked.call);
      linked.op = inside.op;
      linked.outer_op = inside.outer_op;
      linked.annotation = inside.annotation;
    }
    if (linked.op) return linked;
    const auto external = trace_.integer_arg(slice, external_);
    const auto op = external ? ops_by_external_.find(*external) : ops_by_external_.end();
    if (op != ops_by_external_.end()) linked.op = op->second;
    return linked;
  }

  /// The latest call of the id that is not after the work, or the first; of calls one inside the
  /// other, the outer.
  [[nodiscard]] std::optional<SliceId> call_of(std::int64_t correlation, Nanoseconds start) const {
    const auto first = std::lower_bound(calls_.begin(), calls_.end(), correlation,
                                        [](const Call& call, std::int64_t id) { return call.correlation < id; });
    if (first == calls_.end() || first->correlation != correlation) return std::nullopt;
    const auto after = std::upper_bound(first, calls_.end(), std::pair(correlation, start),
                                        [](const std::pair<std::int64_t, Nanoseconds>& key, const Call& call) {
                                          return key < std::pair(call.correlation, call.start);
                                        });
    auto latest = after == first ? first : after - 1;
    while (latest != first) {
      const Slice& outer = trace_.slice((latest - 1)->slice);
      const Slice& inner = trace_.slice(latest->slice);
      if (outer.track != inner.track || inner.start >= outer.end()) break;
      --latest;
    }
    return latest->slice;
  }

  const Trace& trace_;
  SliceKinds kinds_;
  CorrelationIds correlations_;
  std::optional<StringId> external_;
  std::vector<SliceId> work_;
  std::vector<SliceId> host_;
  std::vector<Call> calls_;
  std::unordered_map<std::int64_t, SliceId> ops_by_external_;
  std::unordered_map<SliceId, Enclosing> enclosing_;
};

}  // namespace

std::vector<LaunchedWork> link_launches(const Trace& trace) { return Linker(trace).link(); }

}  // namespace cohort
