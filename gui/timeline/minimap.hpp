#pragma once

#include <QImage>
#include <QWidget>
#include <vector>

#include "gui/timeline/timeline_view.hpp"

namespace cohort {

/// All of a view's time in a few lines, with what the view shows marked: drag that to move it, its edges to change it,
/// press beside it to go there.
class TimelineMinimap : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineMinimap(TimelineView& view, QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override { return {400, 40}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {100, 40}; }
  /// The marked stretch in the widget.
  [[nodiscard]] QRectF marked() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  enum class Grip { kNone, kStart, kEnd, kMiddle };

  [[nodiscard]] TimeScale scale() const;
  [[nodiscard]] Grip grip_at(double x) const;
  [[nodiscard]] std::vector<RowId> rows_to_draw() const;
  void redraw();

  TimelineView& view_;
  QImage image_;  ///< null: to be drawn anew
  Grip grip_ = Grip::kNone;
  double pressed_ = 0;
  TimeWindow range_at_press_;
};

}  // namespace cohort
