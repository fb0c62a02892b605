#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "view/chart/axis_scale.hpp"
#include "view/chart/drawing.hpp"

namespace cohort {

/// A bar in place along its value: y from `from` to `to`.
struct ChartBar {
  ChartPointId point;
  double x = 0;
  double from = 0;
  double to = 0;
  std::size_t beside = 0;  ///< which of the bars that share a position
};

/// The bars of a chart: grouped ones stand on zero, stacked ones on each other, negative ones below zero. On a
/// logarithmic axis there are none.
struct ChartBars {
  std::vector<ChartBar> bars;
  std::size_t most_beside = 1;  ///< bars that share a position
  double slot = 1;              ///< of x: from one position to the next
};
ChartBars bars_of(const Chart& chart);

/// All that stands around the data: title, legend, axes with ticks and labels, limits; and where data goes.
class ChartFrame {
 public:
  /// All must outlive the frame.
  ChartFrame(const Chart& chart, const ChartBars& bars, DrawnSize size);

  [[nodiscard]] const DrawnBox& plot() const { return plot_; }
  /// Of values that can be shown.
  [[nodiscard]] DrawnPosition at(double x, double y) const;
  /// Whether a point can be shown on both axes.
  [[nodiscard]] bool shows(const ChartPoint& point) const;
  /// Pixels along x between positions of bars.
  [[nodiscard]] double slot() const;

  /// Title, legend, grid, axes: what is painted before the data.
  void draw_ground(Drawing& drawing) const;
  /// Painted after the data.
  void draw_limits(Drawing& drawing) const;

 private:
  struct Entry {
    std::string name;  ///< as shown
    std::string title;
    std::optional<std::size_t> series;  ///< absent: a limit that is out of sight
    DrawnPosition position;
  };

  void collect_values();
  void place_legend();
  void add_entry(std::string name, std::optional<std::size_t> series, DrawnPosition& at, std::size_t& row);
  void place_plot();
  [[nodiscard]] double left_margin(const AxisMap& upright_axis, const ChartAxis& axis) const;
  [[nodiscard]] double right_margin(const AxisMap& level_axis) const;
  [[nodiscard]] bool is_upright(const ChartLimit& limit) const;
  [[nodiscard]] bool in_sight(const ChartLimit& limit) const;
  [[nodiscard]] const ChartAxis& level_axis() const { return chart_.lying ? chart_.y : chart_.x; }
  [[nodiscard]] const ChartAxis& upright_axis() const { return chart_.lying ? chart_.x : chart_.y; }
  void draw_legend(Drawing& drawing) const;
  void draw_level_ticks(Drawing& drawing) const;
  void draw_upright_ticks(Drawing& drawing) const;
  void draw_axis_names(Drawing& drawing) const;
  [[nodiscard]] const AxisMap& map_of(const ChartLimit& limit) const {
    return limit.axis == ChartLimit::Axis::kX ? *x_ : *y_;
  }
  void draw_upright_limits(Drawing& drawing, std::span<const ChartLimit* const> limits) const;
  void draw_level_limits(Drawing& drawing, std::span<const ChartLimit* const> limits) const;
  void add_limit_label(Drawing& drawing, DrawnText text, const std::string& label, double room) const;

  const Chart& chart_;
  const ChartBars& bars_;
  DrawnSize size_;
  bool roomy_;                   ///< for names of axes and a legend
  std::vector<double> xs_, ys_;  ///< all that must be in sight
  std::vector<Entry> legend_;
  double top_ = 0;  ///< below title and legend
  DrawnBox plot_;
  std::optional<AxisMap> x_, y_;
};

/// The ink of a series.
Ink series_ink(const Chart& chart, std::size_t series, double opacity = 1);

}  // namespace cohort
