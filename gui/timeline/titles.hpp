#pragma once

#include <QWidget>
#include <optional>

#include "gui/timeline/timeline_view.hpp"

namespace cohort {

/// Names of a view's rows beside it: groups, titles, and buttons that fold a row and pin it to the top. A click on a
/// title chooses the row's area as far as it is shown.
class TimelineTitles : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineTitles(TimelineView& view, QWidget* parent = nullptr);

  [[nodiscard]] QSize sizeHint() const override;
  /// Where a row's buttons are; empty where the row cannot be seen.
  [[nodiscard]] QRect pin_button(RowId row) const;
  [[nodiscard]] QRect fold_button(RowId row) const;

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  struct Place {
    const RowBox* box = nullptr;
    QRect rect;
  };
  [[nodiscard]] std::vector<Place> places() const;
  [[nodiscard]] std::optional<Place> place_at(int y) const;
  [[nodiscard]] std::optional<Place> place_of(RowId row) const;
  [[nodiscard]] QRect pin_rect(const Place& place) const;
  [[nodiscard]] QRect fold_rect(const Place& place) const;
  [[nodiscard]] QString tip_of(const Place& place) const;
  void paint_row(QPainter& painter, const Place& place) const;
  void paint_header(QPainter& painter, const Place& place) const;

  TimelineView& view_;
  std::optional<RowId> hovered_;
};

}  // namespace cohort
