#pragma once

#include <QWidget>
#include <cstddef>
#include <filesystem>
#include <optional>

#include "base/result.hpp"
#include "view/chart/chart.hpp"
#include "view/chart/drawing.hpp"
#include "view/chart/palette.hpp"

namespace cohort {

/// A chart with a pointer and keys: hovering tells of a point, a click or Enter chooses it, the arrow keys go from
/// point to point; its context menu saves it as SVG, PNG or CSV, or copies its numbers. Light or dark as its palette
/// is.
class ChartWidget : public QWidget {
  Q_OBJECT

 public:
  explicit ChartWidget(QWidget* parent = nullptr);

  void set_chart(Chart chart);
  [[nodiscard]] const Chart& chart() const { return chart_; }
  [[nodiscard]] const Drawing& drawing() const { return drawing_; }
  /// The point that is told of: under the pointer, or reached by keys.
  [[nodiscard]] std::optional<ChartPointId> current() const { return current_; }
  /// As if it had been hovered, without a signal: a table beside the chart points at it. Nothing where the chart has no
  /// such point.
  void show_point(std::optional<ChartPointId> point);

  /// By the name's end: .svg, .png or .csv; the picture as it is now, a PNG with twice its pixels.
  /// Errors: kUsage for another end; those of write_file(), which overwrites here.
  Result<void> save_as(const std::filesystem::path& file) const;
  void copy_csv() const;

  [[nodiscard]] QSize sizeHint() const override { return {520, 320}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {160, 110}; }

 Q_SIGNALS:
  void point_hovered(std::size_t series, std::size_t index);
  void point_left();  ///< no point is hovered any more
  void point_clicked(std::size_t series, std::size_t index);
  /// A file could not be written.
  void failed(const QString& message);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  [[nodiscard]] const Palette& colours() const;
  void add_actions();
  void ask_and_save(const QString& kind);
  void lay_out();
  /// With the signal that belongs to it.
  void go_to(std::optional<ChartPointId> point);
  void paint_current(QPainter& painter) const;
  void paint_told(QPainter& painter, const HitRegion& region) const;

  Chart chart_;
  Drawing drawing_;
  std::optional<ChartPointId> current_;
  std::optional<ChartPointId> pressed_;
};

}  // namespace cohort
