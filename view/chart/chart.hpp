#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cohort {

/// What the numbers of an axis are; decides its ticks and how values are written.
enum class AxisUnit {
  kNumber,    ///< "1,200"
  kTime,      ///< nanoseconds: "1.2 ms"
  kBytes,     ///< "12 MiB", ticks at powers of two
  kRatio,     ///< "1.5x"
  kRate,      ///< a second: "1.2 M/s"
  kFraction,  ///< 0.25: "25%"
};

enum class AxisScale { kLinear, kLog2, kLog10 };

struct ChartAxis {
  std::string label = {};
  AxisUnit unit = AxisUnit::kNumber;
  AxisScale scale = AxisScale::kLinear;
  /// Names of the positions 0, 1, 2, ... instead of numbers: for bars.
  std::vector<std::string> categories = {};
  bool from_zero = false;  ///< a linear axis includes 0, as it does wherever bars stand on it
};

/// Where a value is expected to lie.
struct ValueRange {
  double low = 0;
  double high = 0;

  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

/// In the units of its axes.
struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<ValueRange> range = std::nullopt;  ///< of y: a whisker, or along a line a band
  std::string label = {};                          ///< for hover: what this point is
  bool highlight = false;                          ///< drawn larger, with its label beside it
};

enum class SeriesKind { kLine, kPoints, kStepped, kBars, kStackedBars };

/// Values that belong together. Points of lines in ascending x. On a logarithmic axis, points that are not above zero
/// are not drawn.
struct ChartSeries {
  std::string name = {};
  SeriesKind kind = SeriesKind::kLine;
  std::vector<ChartPoint> points = {};
  std::optional<std::size_t> colour = std::nullopt;  ///< of the palette's series; its own position unless given
};

/// A line across the chart at one value: a limit, or no gain.
struct ChartLimit {
  enum class Axis { kX, kY };
  Axis axis = Axis::kY;
  double value = 0;
  std::string label = {};
};

/// What a chart shows, without any place or colour: layout() in drawing.hpp gives it both.
struct Chart {
  std::string title = {};
  ChartAxis x = {};
  ChartAxis y = {};
  std::vector<ChartSeries> series = {};
  std::vector<ChartLimit> limits = {};
  bool lying = false;         ///< bars lie: x goes down the left, y to the right
  std::string if_empty = {};  ///< what to do to see something here, where no series has a point

  [[nodiscard]] bool empty() const;
};

/// A point of a chart: which series, and which of its points.
struct ChartPointId {
  std::size_t series = 0;
  std::size_t index = 0;

  friend auto operator<=>(const ChartPointId&, const ChartPointId&) = default;
};

/// A value as people read it: "1.24 ms", "1.50x", "12.0 MiB", "25.0%".
std::string format_value(AxisUnit unit, double value);

/// What a pointer on a point is told, in lines: its label, series and values with their range.
std::vector<std::string> describe(const Chart& chart, ChartPointId id);

/// One row a point: series, label, x, y, low, high, with a header row; RFC 4180. Times are nanoseconds, memory bytes.
std::string to_csv(const Chart& chart);

}  // namespace cohort
