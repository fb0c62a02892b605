#include "tracer/file/mend_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tracer/call_kind.hpp"
#include "tracer/correlation_ids.hpp"
#include "tracer/file/erase_slices.hpp"
#include "tracer/file/microseconds.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

constexpr Nanoseconds kSecond(1'000'000'000);
/// What a device's clock may be behind the host's without a word.
constexpr Nanoseconds kJitter(100'000);
/// Of clocks that differ by more nothing is known.
constexpr Nanoseconds kMostBehind = 24 * 3600 * kSecond;

struct Work {
  TrackId track{};
  Nanoseconds start{};
  std::uint32_t slice = 0;
  std::optional<std::int64_t> id;
  bool of_graph = false;  ///< branches of a graph run side by side
  std::optional<Nanoseconds> launch;
  std::int64_t process = 0;  ///< that launched it
};

struct Call {
  std::int64_t id = 0;
  Nanoseconds start{};
  std::int64_t process = 0;
  friend bool operator<(const Call& a, const Call& b) { return std::tie(a.id, a.start) < std::tie(b.id, b.start); }
};

/// A call that returned once a device had done all it was given.
struct DeviceWait {
  std::int64_t process = 0;
  Nanoseconds start{};
  Nanoseconds end{};
  friend bool operator<(const DeviceWait& a, const DeviceWait& b) {
    return std::tie(a.process, a.start) < std::tie(b.process, b.start);
  }
};

class Mender {
 public:
  Mender(Trace& trace, Nanoseconds base)
      : trace_(trace), base_(base), kinds_(trace.strings), device_waits_(trace.strings.size()) {}

  void run() {
    collect();
    find_launches();
    drop_zeros();
    drop_early();
    std::sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) {
      return std::tie(a.track, a.start, a.slice) < std::tie(b.track, b.start, b.slice);
    });
    cut_long();
    drop_endless();
    erase_slices(trace_, std::move(dropped_));
  }

 private:
  void collect() {
    const CorrelationIds ids(trace_);
    const auto node = trace_.strings.find("graph node id");
    for (std::uint32_t i = 0; i < trace_.slices.size(); ++i) {
      const Slice& slice = trace_.slices[i];
      const SliceKind kind = kinds_(slice);
      if (slice.start != Nanoseconds{}) first_ = std::min(first_.value_or(slice.start), slice.start);
      if (is_device_work(kind)) {
        const auto in_graph = trace_.integer_arg(slice, node);
        work_.push_back({slice.track, slice.start, i, ids.of(slice),
                         kind == SliceKind::kGraph || (in_graph && *in_graph != 0), std::nullopt, 0});
      } else if (is_call(kind)) {
        const auto id = ids.of(slice);
        const std::int64_t process = trace_.tracks[to_index(slice.track)].pid;
        if (id) calls_.push_back({*id, slice.start, process});
        if (waits_for_device(slice.name)) waits_.push_back({process, slice.start, slice.end()});
        host_start_ = std::min(host_start_.value_or(slice.start), slice.start);
        host_end_ = std::max(host_end_.value_or(slice.end()), slice.end());
      }
    }
  }

  bool waits_for_device(StringId name) {
    std::optional<bool>& known = device_waits_[to_index(name)];
    if (!known) known = call_kind_from(trace_.strings[name]) == CallKind::kDeviceSynchronize;
    return *known;
  }

  void find_launches() {
    std::sort(waits_.begin(), waits_.end());
    if (!std::is_sorted(calls_.begin(), calls_.end())) std::sort(calls_.begin(), calls_.end());
    for (Work& work : work_) {
      if (!work.id) continue;
      const auto call = std::lower_bound(calls_.begin(), calls_.end(), Call{*work.id, -kMostTime, 0});
      if (call == calls_.end() || call->id != *work.id) continue;
      work.launch = call->start;
      work.process = call->process;
    }
  }

  template <class Holds>
  void drop_where(std::string_view why, const Holds& holds) {
    std::vector<const Work*> found;
    const auto kept = std::stable_partition(work_.begin(), work_.end(), [&](const Work& it) { return !holds(it); });
    for (auto it = kept; it != work_.end(); ++it) {
      found.push_back(&*it);
      dropped_.push_back(it->slice);
    }
    say(why, found);
    work_.erase(kept, work_.end());
  }

  void say(std::string_view why, const std::vector<const Work*>& found) {
    if (found.empty()) return;
    const auto* const first =
        *std::min_element(found.begin(), found.end(), [](const Work* a, const Work* b) { return a->slice < b->slice; });
    std::string at;
    append_microseconds(at, first->start + base_);
    trace_.info.dropped[fmt::format("{}{} (\"{:.60}\" at {} us)", kImpossibleTimes, why,
                                    trace_.name(trace_.slices[first->slice]), at)] +=
        static_cast<std::int64_t>(found.size());
  }

  void drop_zeros() {
    if (!first_ || *first_ < kSecond) return;
    drop_where("at time 0, dropped", [](const Work& work) { return work.start == Nanoseconds{}; });
  }

  [[nodiscard]] static bool is_early(const Work& work) { return work.launch && work.start < *work.launch - kJitter; }

  void drop_early() {
    std::map<std::int64_t, std::vector<Nanoseconds>> behind;  // by device, of work with a launch
    std::map<std::int64_t, std::size_t> early;
    for (const Work& work : work_) {
      if (!work.launch) continue;
      const std::int64_t device = trace_.tracks[to_index(work.track)].pid;
      behind[device].push_back(*work.launch - work.start);
      early[device] += is_early(work) ? 1U : 0U;
    }
    for (auto& [device, times] : behind) {
      constexpr std::size_t kTenth = 10;
      if (early[device] > std::max<std::size_t>(1, times.size() / kTenth)) move_device(device, times);
    }
    drop_where("before its launch, dropped", [](const Work& work) { return is_early(work); });
  }

  /// Moves all of a device later, so that all but one in a hundred begins after its launch.
  void move_device(std::int64_t device, std::vector<Nanoseconds>& behind) {
    constexpr std::size_t kHundred = 100;
    const auto place = behind.begin() + static_cast<std::ptrdiff_t>(behind.size() - 1 - behind.size() / kHundred);
    std::nth_element(behind.begin(), place, behind.end());
    const Nanoseconds by = *place;
    if (by > kMostBehind) return;
    const auto moved = [&](Nanoseconds start) { return std::min(start + by, kMostTime); };
    std::vector<const Work*> found;
    for (const Work& work : work_) {
      if (trace_.tracks[to_index(work.track)].pid == device && is_early(work)) found.push_back(&work);
    }
    say(fmt::format("before its launch, so that all of the device is moved by {}", format_time(by)), found);
    std::vector<bool> on_device(trace_.tracks.size());
    for (Work& work : work_) {
      if (trace_.tracks[to_index(work.track)].pid != device) continue;
      on_device[to_index(work.track)] = true;
      work.start = moved(work.start);
    }
    for (Slice& slice : trace_.slices) {
      if (on_device[to_index(slice.track)]) slice.start = moved(slice.start);
    }
  }

  /// Where a piece of work ends after the next three launches of its stream have ended: when the next one begins.
  /// Processes that each number their GPUs and streams may share a track, but not a stream.
  [[nodiscard]] std::optional<Nanoseconds> next_where_long(std::size_t i) const {
    constexpr std::size_t kCovered = 3;
    constexpr std::size_t kFarthest = 64;
    const Work& work = work_[i];
    if (work.of_graph) return std::nullopt;
    const Nanoseconds end = trace_.slices[work.slice].end();
    std::optional<Nanoseconds> next;
    std::size_t covered = 0;
    for (std::size_t k = i + 1; k < work_.size() && k <= i + kFarthest && covered < kCovered; ++k) {
      const Work& later = work_[k];
      if (later.track != work.track || later.start >= end) break;
      if (later.launch && work.launch && later.process != work.process) continue;
      const bool own = later.id && later.id == work.id;
      if (own || trace_.slices[later.slice].end() >= end) return std::nullopt;
      if (covered++ == 0) next = later.start;
    }
    return covered == kCovered && *next > work.start ? next : std::nullopt;
  }

  /// True where the host, having launched it, waited for the device and went on before it ended.
  [[nodiscard]] bool outlasts_wait(const Work& work) const {
    if (!work.launch) return false;
    const auto wait = std::lower_bound(waits_.begin(), waits_.end(), DeviceWait{work.process, *work.launch, {}});
    return wait != waits_.end() && wait->process == work.process &&
           wait->end + kJitter < trace_.slices[work.slice].end();
  }

  /// Tracks on which many last that long hold several streams, unless the host shows that they do not.
  void cut_long() {
    constexpr std::size_t kHundred = 100;
    std::vector<const Work*> found;
    for (std::size_t first = 0; first < work_.size();) {
      std::vector<std::pair<std::size_t, Nanoseconds>> long_ones;
      std::size_t last = first;
      for (; last < work_.size() && work_[last].track == work_[first].track; ++last) {
        if (const auto next = next_where_long(last)) long_ones.emplace_back(last, *next);
      }
      const bool few = long_ones.size() <= std::max<std::size_t>(1, (last - first) / kHundred);
      for (const auto& [i, next] : long_ones) {
        const Work& work = work_[i];
        if (!few && !outlasts_wait(work)) continue;
        trace_.slices[work.slice].duration = next - work.start;
        found.push_back(&work);
      }
      first = last;
    }
    say("over later ones of its stream, cut where the next starts", found);
  }

  void drop_endless() {
    if (!host_start_) return;
    constexpr int kTimes = 10;
    const Nanoseconds most = (*host_end_ - *host_start_) / kTimes > kMostTime / (kTimes * kTimes)
                                 ? kMostTime
                                 : kTimes * (*host_end_ - *host_start_) + kTimes * kSecond;
    drop_where("longer than ten times the recording, dropped",
               [&](const Work& work) { return trace_.slices[work.slice].duration > most; });
  }

  Trace& trace_;
  Nanoseconds base_;
  SliceKinds kinds_;
  std::vector<Work> work_;
  std::vector<std::optional<bool>> device_waits_;  ///< by name: calls that wait for a device
  std::vector<Call> calls_;
  std::vector<DeviceWait> waits_;
  std::optional<Nanoseconds> first_;  ///< start of a slice that is not 0
  std::optional<Nanoseconds> host_start_;
  std::optional<Nanoseconds> host_end_;
  std::vector<std::size_t> dropped_;
};

}  // namespace

void mend_device_times(Trace& trace, Nanoseconds base) { Mender(trace, base).run(); }

}  // namespace cohort
