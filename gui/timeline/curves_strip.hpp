#pragma once

#include <QWidget>
#include <optional>
#include <vector>

#include "gui/timeline/timeline_view.hpp"
#include "view/timeline/curves.hpp"

namespace cohort {

/// Curves over the time that a view shows, above it: how busy devices are, and what the trace has counted. Their names
/// stand at the left, above the names of rows.
class TimelineCurvesStrip : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineCurvesStrip(TimelineView& view, QWidget* parent = nullptr);

  /// Shows at most `kMostShown` of them, busy ones first.
  void set_curves(std::vector<TimelineCurve> curves);
  [[nodiscard]] const std::vector<TimelineCurve>& curves() const { return curves_; }
  /// Width of the names.
  void set_name_width(int width);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

  static constexpr std::size_t kMostShown = 5;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  [[nodiscard]] QRect place_of(std::size_t curve) const;
  [[nodiscard]] QString value_text(const TimelineCurve& curve, double value) const;
  void paint_name(QPainter& painter, std::size_t curve) const;
  void paint_curve(QPainter& painter, std::size_t curve) const;
  [[nodiscard]] QImage picture_of(const TimelineCurve& curve, QSize size, const QColor& colour) const;

  TimelineView& view_;
  std::vector<TimelineCurve> curves_;
  int name_width_ = 210;
  std::optional<int> pointer_;
};

}  // namespace cohort
