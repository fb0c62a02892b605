#pragma once

#include <string>
#include <vector>

#include "base/units.hpp"
#include "tracer/steps/steps.hpp"

namespace cohort {

/// Which moment stands at which pixel: [window.start, window.end) over `width` pixels from 0. Whole numbers throughout,
/// so that nothing jumps however long the trace and however near the view: where a pixel lasts a nanosecond or more,
/// x_at(time_at(x)) == x for every pixel; where it lasts less, time_at(x_at(t)) == t for every nanosecond.
struct TimeScale {
  TimeWindow window;
  int width = 1;  ///< pixels, at least 1

  /// The nanosecond at a pixel's left edge; also of pixels outside [0, width).
  [[nodiscard]] Nanoseconds time_at(std::int64_t x) const;
  /// The first pixel whose left edge is not before `time`; also of times outside the window, within +-2^40 pixels.
  [[nodiscard]] std::int64_t x_at(Nanoseconds time) const;
  /// Where between pixels a time lies, for drawing.
  [[nodiscard]] double exact_x(Nanoseconds time) const {
    return static_cast<double>((time - window.start).count()) * pixels_per_nanosecond();
  }
  [[nodiscard]] double pixels_per_nanosecond() const { return width / static_cast<double>(window.length().count()); }
  /// Time that so many pixels last, rounded up; at least 1 ns for 1 pixel or more.
  [[nodiscard]] Nanoseconds length_of(std::int64_t pixels) const;

  friend bool operator==(const TimeScale&, const TimeScale&) = default;
};

/// Limits of what a view shows: `all` is what there is to see.
struct ZoomLimits {
  TimeWindow all;
  Nanoseconds shortest{1};

  /// The nearest allowed window: not shorter than `shortest`, not longer than all with a margin of 1/20 on each side,
  /// and inside that.
  [[nodiscard]] TimeWindow fit(TimeWindow wanted) const;
  [[nodiscard]] TimeWindow whole() const;
};

/// `scale`'s window made `factor` times as long (above 1: farther away), where the time under pixel `x` stays in its
/// place as far as the limits allow.
TimeWindow zoomed(const TimeScale& scale, double factor, int x, const ZoomLimits& limits);
/// The window moved later by so many pixels; earlier where negative.
TimeWindow panned(const TimeScale& scale, std::int64_t pixels, const ZoomLimits& limits);

/// A line of the time axis.
struct AxisTick {
  Nanoseconds time{};
  std::string label;  ///< "1.25 ms", after the axis' start or its base
};

/// Lines of a time axis at 1, 2 or 5 times a power of ten.
struct TimeAxis {
  Nanoseconds step{};
  std::string base;  ///< "34.0001 s": what labels that begin with '+' come on top of; empty where none do
  std::vector<AxisTick> ticks;
};

/// Ticks in the scale's window, at least `least_pixels` apart, labelled by their time after `origin`.
TimeAxis time_axis(const TimeScale& scale, Nanoseconds origin, int least_pixels);

}  // namespace cohort
