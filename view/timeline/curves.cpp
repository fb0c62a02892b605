#include "view/timeline/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "tracer/slice_kind.hpp"

namespace cohort {
namespace {

/// Takes values over time, one after the other, and keeps their steps.
class CurveWriter {
 public:
  void begin(Nanoseconds time) { at_ = time; }
  /// The value until `time`, from where the last one ended.
  void until(Nanoseconds time, double value) {
    if (time <= at_) return;
    if (points_.empty() || points_.back().value != value) points_.push_back({at_, value});
    at_ = time;
  }
  StepCurve finish() {
    points_.push_back({at_, 0});
    return StepCurve(std::move(points_));
  }

 private:
  Nanoseconds at_{};
  std::vector<StepCurve::Point> points_;
};

/// Which share of a device's units a slice keeps busy.
class UnitShares {
 public:
  UnitShares(const Trace& trace, bool is_gpu)
      : trace_(trace),
        kinds_(trace.strings),
        is_gpu_(is_gpu),
        units_(trace.info.device.cores),
        key_(trace.strings.find(is_gpu ? "grid" : "threads")),
        known_(trace.strings.size(), kUnseen) {}

  double operator()(const Slice& slice) {
    const SliceKind kind = kinds_(slice);
    if (is_gpu_ && kind != SliceKind::kKernel && is_device_work(kind)) return 0;  // copies need no multiprocessor
    ++asked_;
    const std::optional<double> share = is_gpu_ ? of_grid(slice) : of_threads(slice);
    if (!share) ++unknown_;
    return share.value_or(0);
  }
  [[nodiscard]] bool any() const { return unknown_ < asked_; }
  [[nodiscard]] std::string unknown() const {
    if (unknown_ == 0) return {};
    return fmt::format("{} of {} slices do not say how many {} they use", unknown_, asked_,
                       is_gpu_ ? "blocks" : "threads");
  }

 private:
  static constexpr double kUnseen = -2;
  static constexpr double kUnknown = -1;

  std::optional<double> of_threads(const Slice& slice) const {
    const auto threads = trace_.integer_arg(slice, key_);
    if (!threads || *threads < 1) return std::nullopt;
    return std::min(1.0, static_cast<double>(*threads) / units_);
  }

  std::optional<double> of_grid(const Slice& slice) {
    if (!slice.args || !key_) return std::nullopt;
    for (const auto& [name, value] : trace_.args[to_index(*slice.args)]) {
      if (name != *key_) continue;
      const auto* nested = std::get_if<NestedJson>(&value);
      const auto* text = std::get_if<StringId>(&value);
      if (nested == nullptr && text == nullptr) return std::nullopt;
      double& known = known_[to_index(nested != nullptr ? nested->text : *text)];
      if (known == kUnseen) known = blocks_share(slice).value_or(kUnknown);
      return known == kUnknown ? std::nullopt : std::optional(known);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<double> blocks_share(const Slice& slice) const {
    const auto grid = trace_.integers_arg(slice, "grid");
    if (!grid || grid->empty()) return std::nullopt;
    double blocks = 1;
    for (const std::int64_t extent : *grid) blocks *= static_cast<double>(extent);
    if (blocks < 1) return std::nullopt;
    return std::min(1.0, blocks / units_);
  }

  const Trace& trace_;
  SliceKinds kinds_;
  bool is_gpu_;
  double units_;
  std::optional<StringId> key_;
  std::vector<double> known_;  ///< by the grid's text
  std::size_t asked_ = 0;
  std::size_t unknown_ = 0;
};

/// Adds what a lane keeps busy to means over equal stretches.
class Stretches {
 public:
  Stretches(TimeWindow window, std::size_t count) : window_(window), sums_(count) {}

  void add(Nanoseconds from, Nanoseconds to, double value) {
    if (value == 0) return;
    const double scale = static_cast<double>(sums_.size()) / static_cast<double>(window_.length().count());
    double x = static_cast<double>((from - window_.start).count()) * scale;
    const double end = static_cast<double>((to - window_.start).count()) * scale;
    auto stretch = std::min(static_cast<std::size_t>(x), sums_.size() - 1);
    while (stretch + 1 < sums_.size() && static_cast<double>(stretch + 1) < end) {
      sums_[stretch] += value * (static_cast<double>(stretch + 1) - x);
      x = static_cast<double>(++stretch);
    }
    sums_[stretch] += value * (end - x);
  }

  /// Values above 1 are 1.
  [[nodiscard]] StepCurve curve() const {
    std::vector<StepCurve::Point> points;
    points.reserve(sums_.size() + 1);
    const auto length = static_cast<double>(window_.length().count());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const double from = length * static_cast<double>(i) / static_cast<double>(sums_.size());
      points.push_back({window_.start + Nanoseconds(static_cast<std::int64_t>(from)), std::min(1.0, sums_[i])});
    }
    points.push_back({window_.end, 0});
    return StepCurve(std::move(points));
  }

 private:
  TimeWindow window_;
  std::vector<double> sums_;
};

using Stretch = std::pair<Nanoseconds, Nanoseconds>;

void join(std::vector<Stretch>& stretches, const Stretch& next) {
  if (!stretches.empty() && next.first <= stretches.back().second) {
    stretches.back().second = std::max(stretches.back().second, next.second);
  } else {
    stretches.push_back(next);
  }
}

std::vector<Stretch> busy_stretches(const Lane& lane) {
  std::vector<Stretch> busy;
  for (std::size_t i = 0; i < lane.size(); ++i) join(busy, {lane.start(i), lane.end(i)});
  return busy;
}

std::vector<Stretch> either(const std::vector<Stretch>& a, const std::vector<Stretch>& b) {
  std::vector<Stretch> both;
  both.reserve(std::max(a.size(), b.size()));
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() || y != b.end()) {
    const bool first = y == b.end() || (x != a.end() && x->first <= y->first);
    join(both, first ? *x++ : *y++);
  }
  return both;
}

/// When any of the lanes is busy. Lanes are joined two by two, like ones with like ones.
std::vector<Stretch> busy_stretches(const std::vector<const Lane*>& lanes) {
  std::vector<std::vector<Stretch>> waiting;  // each of at least twice as many lanes as the next
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    waiting.push_back(busy_stretches(*lanes[l]));
    for (std::size_t joined = l + 1; joined % 2 == 0; joined /= 2) {
      const std::vector<Stretch> last = std::move(waiting.back());
      waiting.pop_back();
      waiting.back() = either(waiting.back(), last);
    }
  }
  std::vector<Stretch> all;
  for (auto& stretches : waiting) all = either(all, stretches);
  return all;
}

/// The lanes of one device.
struct DeviceLanes {
  std::vector<const Lane*> lanes;
  std::size_t slices = 0;
};

/// Runs over a device's slices in order of time, however many lanes they lie on.
class Sweep {
 public:
  Sweep(const Trace& trace, const DeviceLanes& device) : trace_(trace), device_(device) {}

  void run(UnitShares* shares) {
    using Next = std::pair<Nanoseconds, std::size_t>;  // start of each lane's next slice
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    std::vector<std::size_t> at(device_.lanes.size());
    for (std::size_t l = 0; l < at.size(); ++l) next.emplace(device_.lanes[l]->start(0), l);
    busy_.begin(next.top().first);
    units_.begin(next.top().first);
    while (!next.empty()) {
      const auto [start, l] = next.top();
      next.pop();
      const Lane& lane = *device_.lanes[l];
      end_until(start);
      step(start);
      const std::size_t i = at[l]++;
      const double share = shares == nullptr ? 0 : (*shares)(trace_.slice(lane.slice(i)));
      share_ += share;
      running_.emplace(lane.end(i), share);
      if (at[l] < lane.size()) next.emplace(lane.start(at[l]), l);
    }
    end_until(Nanoseconds::max());
  }

  StepCurve busy() { return busy_.finish(); }
  StepCurve units() { return units_.finish(); }

 private:
  void end_until(Nanoseconds time) {
    while (!running_.empty() && running_.top().first <= time) {
      step(running_.top().first);
      share_ -= running_.top().second;
      running_.pop();
      if (running_.empty()) share_ = 0;  // nothing is left of rounding
    }
  }
  void step(Nanoseconds time) {
    busy_.until(time, running_.empty() ? 0 : 1);
    units_.until(time, std::clamp(share_, 0.0, 1.0));
  }

  const Trace& trace_;
  const DeviceLanes& device_;
  CurveWriter busy_;
  CurveWriter units_;
  using Running = std::pair<Nanoseconds, double>;  // end and share
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  double share_ = 0;
};

/// Both curves of a device; that of its units only with `shares`.
std::pair<StepCurve, StepCurve> device_curves(const Trace& trace, const DeviceLanes& device, TimeWindow window,
                                              std::size_t most_points, UnitShares* shares) {
  if (2 * device.slices < most_points) {
    Sweep sweep(trace, device);
    sweep.run(shares);
    return {sweep.busy(), sweep.units()};
  }
  Stretches busy(window, most_points);
  for (const auto& [start, end] : busy_stretches(device.lanes)) busy.add(start, end, 1);
  Stretches units(window, most_points);
  for (const Lane* lane : device.lanes) {
    for (std::size_t i = 0; shares != nullptr && i < lane->size(); ++i) {
      units.add(lane->start(i), lane->end(i), (*shares)(trace.slice(lane->slice(i))));
    }
  }
  return {busy.curve(), units.curve()};
}

void add_device(const Timeline& timeline, std::uint32_t part, const std::string& name, const DeviceLanes& device,
                std::size_t most_points, std::vector<TimelineCurve>& curves) {
  const Trace& trace = *timeline.parts()[part].trace;
  const DeviceInfo& info = trace.info.device;
  const bool is_cpu = info.kind == "cpu" || info.kind == "reference";
  const bool is_known = is_cpu || info.cores > 1;
  UnitShares shares(trace, !is_cpu);
  auto [busy, used] = device_curves(trace, device, timeline.window(), most_points, is_known ? &shares : nullptr);
  curves.push_back({CurveKind::kDeviceBusy, part, fmt::format("{} busy", name), {}, std::move(busy), true});
  TimelineCurve units{CurveKind::kUnitsBusy, part, fmt::format("{} busy", is_cpu ? "cores" : "SMs"), {}, {}, true};
  if (name != "device") units.title = fmt::format("{} {}", name, units.title);
  if (!is_known) {
    units.unknown = "the trace does not say how many multiprocessors the device has";
  } else {
    units.unknown = shares.unknown();
    if (shares.any()) units.curve = std::move(used);
  }
  curves.push_back(std::move(units));
}

void add_counters(const Timeline& timeline, std::uint32_t part, std::vector<TimelineCurve>& curves) {
  const TimelinePart& shown = timeline.parts()[part];
  std::map<std::pair<StringId, TrackId>, std::vector<StepCurve::Point>> by_name;
  std::map<StringId, std::size_t> tracks;
  for (const Counter& counter : shown.trace->counters) {
    auto& points = by_name[{counter.name, counter.track}];
    if (points.empty()) ++tracks[counter.name];
    points.push_back({counter.time + shown.offset, counter.value});
  }
  for (auto& [key, points] : by_name) {
    std::stable_sort(points.begin(), points.end(),
                     [](const StepCurve::Point& a, const StepCurve::Point& b) { return a.time < b.time; });
    TimelineCurve curve;
    curve.part = part;
    curve.title = shown.trace->strings[key.first];
    if (tracks[key.first] > 1) {
      const Track& track = shown.trace->tracks[to_index(key.second)];
      curve.title += fmt::format(" ({})", track.thread.empty() ? track.process : track.thread);
    }
    curve.curve = StepCurve(std::move(points));
    curve.is_share = false;
    curves.push_back(std::move(curve));
  }
}

}  // namespace

StepCurve::StepCurve(std::vector<Point> points) {
  points_.reserve(points.size());
  for (const Point& point : points) {
    if (!points_.empty() && points_.back().time == point.time) {
      points_.back() = point;
    } else {
      points_.push_back(point);
    }
  }
  integral_.reserve(points_.size());
  double sum = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (i > 0) sum += points_[i - 1].value * static_cast<double>((points_[i].time - points_[i - 1].time).count());
    integral_.push_back(sum);
    most_ = std::max(most_, points_[i].value);
  }
}

double StepCurve::at(Nanoseconds time) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), time,
                                      [](Nanoseconds moment, const Point& point) { return moment < point.time; });
  return after == points_.begin() ? 0 : (after - 1)->value;
}

double StepCurve::integral_to(Nanoseconds time) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), time,
                                      [](Nanoseconds moment, const Point& point) { return moment < point.time; });
  if (after == points_.begin()) return 0;
  const auto i = static_cast<std::size_t>(after - points_.begin()) - 1;
  return integral_[i] + points_[i].value * static_cast<double>((time - points_[i].time).count());
}

double StepCurve::mean(TimeWindow window) const {
  if (window.length() <= Nanoseconds(0)) return at(window.start);
  return (integral_to(window.end) - integral_to(window.start)) / static_cast<double>(window.length().count());
}

std::vector<double> StepCurve::sample(TimeWindow window, int width) const {
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(std::max(0, width)));
  const auto length = static_cast<double>(window.length().count());
  Nanoseconds from = window.start;
  double before = integral_to(from);
  for (int x = 0; x < width; ++x) {
    const Nanoseconds to =
        window.start + Nanoseconds(static_cast<std::int64_t>(length * static_cast<double>(x + 1) / width));
    const double sum = integral_to(to);
    means.push_back(to > from ? (sum - before) / static_cast<double>((to - from).count()) : at(from));
    from = to;
    before = sum;
  }
  return means;
}

std::vector<TimelineCurve> timeline_curves(const Timeline& timeline, std::size_t most_points) {
  std::vector<TimelineCurve> curves;
  for (std::uint32_t part = 0; part < timeline.parts().size(); ++part) {
    std::map<std::string, DeviceLanes> devices;  // by group
    for (const TimelineRow& row : timeline.rows()) {
      if (row.part != part || !is_device_row(row.kind)) continue;
      DeviceLanes& device = devices[row.group];
      for (std::size_t l = 0; l < row.lanes; ++l) device.lanes.push_back(&timeline.lane(row.lane(l)));
      device.slices += row.slices;
    }
    // Copies of the input pipeline and the device they go to are one.
    if (devices.size() == 2 && devices.count("input") > 0) {
      DeviceLanes input = std::move(devices["input"]);
      devices.erase("input");
      DeviceLanes& device = devices.begin()->second;
      device.lanes.insert(device.lanes.end(), input.lanes.begin(), input.lanes.end());
      device.slices += input.slices;
    }
    for (const auto& [group, device] : devices) {
      add_device(timeline, part, devices.size() == 1 ? "device" : group, device, most_points, curves);
    }
    add_counters(timeline, part, curves);
  }
  return curves;
}

}  // namespace cohort
