#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "view/chart/chart.hpp"

namespace cohort {

struct ChartTick {
  double value = 0;
  std::string label;

  friend bool operator==(const ChartTick&, const ChartTick&) = default;
};

/// Whether an axis can show a value: finite, and on a logarithmic one above zero.
bool can_show(const ChartAxis& axis, double value);

/// Where the values of an axis lie between its ends.
class AxisMap {
 public:
  struct Wishes {
    bool from_zero = false;   ///< a linear axis includes 0
    bool round_ends = false;  ///< a linear axis begins and ends at a tick, or just beyond one
    std::size_t most_ticks = 8;
  };
  /// Wide enough for all of `values` with some room around them. Values that cannot be shown do not count; without any
  /// the axis goes from 0 to 1, or from 1 to 10.
  AxisMap(const ChartAxis& axis, std::span<const double> values, const Wishes& wishes);

  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  /// 0 at the low end and 1 at the high one. `value` must be one that can be shown.
  [[nodiscard]] double at(double value) const;
  [[nodiscard]] bool contains(double value) const { return value >= low_ && value <= high_; }
  /// In ascending order, within the ends; at round numbers, the same number of decimals on each.
  [[nodiscard]] const std::vector<ChartTick>& ticks() const { return ticks_; }

 private:
  void set_categories(const ChartAxis& axis);
  void set_linear(const ChartAxis& axis, const Wishes& wishes);
  void set_logarithmic(const ChartAxis& axis, std::size_t most_ticks);

  AxisScale scale_ = AxisScale::kLinear;
  double low_ = 0;
  double high_ = 1;
  std::vector<ChartTick> ticks_;
};

/// A limit is drawn where data comes near it; further away it would press all data into a corner.
bool is_near(const ChartAxis& axis, double limit, std::span<const double> values);

}  // namespace cohort
