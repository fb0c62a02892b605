#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// A value over time, kept so that its mean over any stretch takes O(log n).
class StepCurve {
 public:
  struct Point {
    Nanoseconds time{};
    double value = 0;  ///< from here to the next point
  };
  StepCurve() = default;
  /// Points by time; of several at one time the last counts. Before the first point the value is 0.
  explicit StepCurve(std::vector<Point> points);

  [[nodiscard]] bool empty() const { return points_.empty(); }
  [[nodiscard]] double at(Nanoseconds time) const;
  /// Time-weighted mean over a window; the value at its start where it has no length.
  [[nodiscard]] double mean(TimeWindow window) const;
  /// One mean for each of `width` equal parts of the window.
  [[nodiscard]] std::vector<double> sample(TimeWindow window, int width) const;
  [[nodiscard]] double most() const { return most_; }
  [[nodiscard]] std::size_t size() const { return points_.size(); }

 private:
  [[nodiscard]] double integral_to(Nanoseconds time) const;

  std::vector<Point> points_;
  std::vector<double> integral_;  ///< from the first point to each
  double most_ = 0;
};

enum class CurveKind : std::uint8_t {
  kDeviceBusy,  ///< share of time in which any stream of the part runs something
  kUnitsBusy,   ///< share of the device's multiprocessors (GPU) or cores (CPU) that have work
  kCounter,     ///< recorded by the trace's tool
};

struct TimelineCurve {
  CurveKind kind = CurveKind::kCounter;
  std::uint32_t part = 0;
  std::string title;     ///< "device busy", "SMs busy", "cores busy", "GPU memory 0"
  std::string unknown;   ///< why it cannot be known, or what it leaves out; empty where it is whole
  StepCurve curve;       ///< empty where it cannot be known
  bool is_share = true;  ///< 0 to 1; else in the counter's unit
};

/// Busy curves of each part, then its counters. Device busy beyond `most_points` steps is kept as means over equal
/// parts. Time: O(n log k) for k lanes.
std::vector<TimelineCurve> timeline_curves(const Timeline& timeline, std::size_t most_points = std::size_t{1} << 18);

}  // namespace cohort
