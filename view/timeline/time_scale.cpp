#include "view/timeline/time_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kFarthestPixel = Wide{1} << 40;

Wide floor_quotient(Wide value, Wide divisor) {
  const Wide quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}
Wide ceil_quotient(Wide value, Wide divisor) { return -floor_quotient(-value, divisor); }

Nanoseconds rounded(double value) { return Nanoseconds(std::llround(value)); }

/// Units of an axis, by the least step that is labelled in them.
struct Unit {
  std::int64_t nanoseconds;
  const char* name;
};
constexpr Unit kUnits[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}, {1, "ns"}};

/// The largest in which a step has at most three decimals and the largest value is not below 1.
std::size_t unit_for(std::int64_t step, std::int64_t largest) {
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) &&
         (step < kUnits[unit].nanoseconds / 1000 || largest < kUnits[unit].nanoseconds)) {
    ++unit;
  }
  return unit;
}

/// "1.250 ms" to the nanosecond, without zeros at the end.
std::string exact_label(std::int64_t time, const Unit& unit) {
  const bool negative = time < 0;
  const std::int64_t magnitude = negative ? -time : time;
  std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / unit.nanoseconds);
  if (const std::int64_t rest = magnitude % unit.nanoseconds; rest != 0) {
    const int digits = unit.nanoseconds == 1'000'000'000 ? 9 : unit.nanoseconds == 1'000'000 ? 6 : 3;
    std::string decimals = fmt::format("{:0{}}", rest, digits);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  return text + " " + unit.name;
}

std::int64_t step_of(double least) {
  std::int64_t power = 1;
  constexpr std::int64_t kMostPower = 1'000'000'000'000'000'000;
  for (;;) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (static_cast<double>(factor * power) >= least) return factor * power;
    }
    if (power == kMostPower) return power;
    power *= 10;
  }
}

}  // namespace

Nanoseconds TimeScale::time_at(std::int64_t x) const {
  const Wide far = std::clamp(Wide{x}, -kFarthestPixel, kFarthestPixel);
  const Wide after = floor_quotient(far * window.length().count(), width);
  return Nanoseconds(static_cast<std::int64_t>(
      std::clamp(window.start.count() + after, -Wide{4 * kMostTime.count()}, Wide{4 * kMostTime.count()})));
}

std::int64_t TimeScale::x_at(Nanoseconds time) const {
  const Wide after = Wide{time.count()} - window.start.count();
  const Wide x = ceil_quotient(after * width, window.length().count());
  return static_cast<std::int64_t>(std::clamp(x, -kFarthestPixel, kFarthestPixel));
}

Nanoseconds TimeScale::length_of(std::int64_t pixels) const {
  return Nanoseconds(static_cast<std::int64_t>(ceil_quotient(Wide{pixels} * window.length().count(), width)));
}

TimeWindow ZoomLimits::whole() const {
  const Nanoseconds margin = all.length() / 20;
  return {all.start - margin, all.end + margin};
}

TimeWindow ZoomLimits::fit(TimeWindow wanted) const {
  const TimeWindow most = whole();
  const Nanoseconds length = std::clamp(wanted.length(), std::min(shortest, most.length()), most.length());
  if (length != wanted.length()) wanted.start += (wanted.length() - length) / 2;
  wanted.start = std::clamp(wanted.start, most.start, most.end - length);
  return {wanted.start, wanted.start + length};
}

TimeWindow zoomed(const TimeScale& scale, double factor, int x, const ZoomLimits& limits) {
  const auto longest = static_cast<double>(limits.whole().length().count());
  const auto before = static_cast<double>(scale.window.length().count());
  const double wanted = std::clamp(before * factor, 1.0, longest);
  Nanoseconds length = rounded(wanted);
  // A step that rounds to nothing would never get farther.
  if (length == scale.window.length() && factor != 1) length += Nanoseconds(factor > 1 ? 1 : -1);
  length = std::clamp(length, std::max(Nanoseconds(1), limits.shortest), rounded(longest));
  const Nanoseconds fixed = scale.time_at(x);
  const double share = static_cast<double>(x) / scale.width;
  const Nanoseconds start = fixed - rounded(static_cast<double>(length.count()) * share);
  return limits.fit({start, start + length});
}

TimeWindow panned(const TimeScale& scale, std::int64_t pixels, const ZoomLimits& limits) {
  const Nanoseconds start = scale.time_at(pixels);
  return limits.fit({start, start + scale.window.length()});
}

TimeAxis time_axis(const TimeScale& scale, Nanoseconds origin, int least_pixels) {
  TimeAxis axis;
  axis.step = Nanoseconds(step_of(std::max(1.0, least_pixels / scale.pixels_per_nanosecond())));
  const std::int64_t step = axis.step.count();
  const std::int64_t from = (scale.window.start - origin).count();
  const std::int64_t to = (scale.window.end - origin).count();
  const std::size_t number = unit_for(step, std::max(std::abs(from), std::abs(to)));
  const Unit& unit = kUnits[number];
  // Far from the origin and near to the eye labels would be long and alike: they count from a rounder time then.
  constexpr std::int64_t kMostUnits = 10'000;
  std::int64_t base = 0;
  if (number > 0 && std::max(std::abs(from), std::abs(to)) / unit.nanoseconds > kMostUnits) {
    const Unit& rounder = kUnits[number - 1];
    base = static_cast<std::int64_t>(floor_quotient(from, rounder.nanoseconds)) * rounder.nanoseconds;
    axis.base = exact_label(base, rounder);
  }
  for (auto at = static_cast<std::int64_t>(ceil_quotient(Wide{from} - base, step)) * step; base + at < to; at += step) {
    std::string label = exact_label(at, unit);
    if (!axis.base.empty()) label.insert(0, "+");
    axis.ticks.push_back({origin + Nanoseconds(base + at), std::move(label)});
  }
  return axis;
}

}  // namespace cohort
