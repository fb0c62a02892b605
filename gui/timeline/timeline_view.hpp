#pragma once

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "gui/timeline/label_cache.hpp"
#include "gui/timeline/timeline_look.hpp"
#include "view/timeline/colours.hpp"
#include "view/timeline/flows.hpp"
#include "view/timeline/marks.hpp"
#include "view/timeline/row_layout.hpp"
#include "view/timeline/time_scale.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// A stretch of time on some rows, in their order.
struct TimelineArea {
  TimeWindow window;
  std::vector<RowId> rows;
  friend bool operator==(const TimelineArea&, const TimelineArea&) = default;
};

/// The rows of a timeline over a stretch of time, with a time axis on top. All that is known of what it shows lies in
/// the Timeline; it keeps what the user sees and has chosen. Rows are painted into one image, anew where the stretch,
/// the scroll position or the size change; pointer, selection, arrows and marks on top of that.
class TimelineView : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);
  ~TimelineView() override;

  /// Shows a timeline, or nothing where null: all of it, nothing chosen, colours by kind of work.
  void set_timeline(std::shared_ptr<const Timeline> timeline);
  [[nodiscard]] const std::shared_ptr<const Timeline>& timeline() const { return timeline_; }
  /// By part and SliceId; parts and slices must be the timeline's.
  void set_colours(SliceColours colours);
  [[nodiscard]] const SliceColours& colours() const { return colours_; }
  void set_look(const TimelineLook& look);
  [[nodiscard]] const TimelineLook& look() const { return look_; }

  /// The stretch of time that is shown.
  [[nodiscard]] TimeWindow visible_range() const { return range_; }
  /// As far as there is something to see: at least 1 ns, at most all with a margin.
  void set_visible_range(TimeWindow range);
  void show_all();
  [[nodiscard]] TimeScale scale() const { return {range_, std::max(1, width())}; }

  [[nodiscard]] std::optional<SliceRef> selected() const { return selected_; }
  /// Of the chosen slice.
  [[nodiscard]] const SliceFlows& flows() const { return flows_; }
  [[nodiscard]] std::optional<SliceRef> hovered() const { return hovered_; }
  void select(std::optional<SliceRef> slice);
  /// Scrolls and moves in time until a slice can be seen; zooms out where it is longer than what is shown.
  void reveal(SliceRef slice);
  /// Shows a slice with its surroundings: it takes a third of the width.
  void zoom_to(SliceRef slice);
  [[nodiscard]] const std::optional<TimelineArea>& area() const { return area_; }
  void select_area(std::optional<TimelineArea> area);

  [[nodiscard]] const TimeMarks& marks() const { return marks_; }
  void set_marks(TimeMarks marks);

  [[nodiscard]] const RowLayout& rows() const { return layout_; }
  [[nodiscard]] bool is_pinned(RowId row) const { return pinned_.count(row) > 0; }
  [[nodiscard]] bool is_folded(RowId row) const { return folded_.count(row) > 0; }
  void set_pinned(RowId row, bool pinned);
  void set_folded(RowId row, bool folded);
  void reveal_row(RowId row);

  /// Pixels by which rows are scrolled up, 0 to most_scroll().
  [[nodiscard]] int scroll() const { return scroll_; }
  [[nodiscard]] int most_scroll() const;
  void set_scroll(int pixels);
  /// Height of the time axis above the rows.
  [[nodiscard]] int axis_height() const;
  /// Where a slice stands in the widget; absent where it lies on no lane. May be outside the visible part.
  [[nodiscard]] std::optional<QRectF> rectangle(SliceRef slice) const;
  /// The slice drawn at a point, or within 3 pixels beside it.
  [[nodiscard]] std::optional<SliceRef> slice_at(QPointF point) const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void range_changed(cohort::TimeWindow range);
  void slice_hovered(std::optional<cohort::SliceRef> slice);
  void slice_selected(std::optional<cohort::SliceRef> slice);
  /// When a drag ends or an area is given; absent once it is cleared.
  void area_selected(std::optional<cohort::TimelineArea> area);
  void scrolled(int pixels);
  void rows_changed();  ///< pinned, folded, or another timeline
  void marks_changed();
  void colours_changed();  ///< of slices, or the look
  void search_requested();
  void track_requested();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct ImageKey {
    TimeWindow range;
    QSize size;
    double ratio = 1;
    int scroll = 0;
    std::uint64_t version = 0;  ///< of timeline, colours, look and rows
    friend bool operator==(const ImageKey&, const ImageKey&) = default;
  };
  enum class Drag { kNone, kClick, kArea, kPan };
  struct PlacedBox {
    const RowBox* box = nullptr;
    int y = 0;  ///< in the widget
  };

  void lay_out();
  [[nodiscard]] ZoomLimits limits() const;
  /// Boxes that can be seen, by height; pinned ones last, as they cover the others.
  [[nodiscard]] std::vector<PlacedBox> visible_boxes() const;
  [[nodiscard]] std::optional<PlacedBox> box_at(int y) const;
  [[nodiscard]] int rows_top() const;  ///< of those that scroll
  void zoom(double factor, int x);
  void pan(std::int64_t pixels);
  void hover_at(QPointF point);
  void focus_selection();
  void step_in_lane(bool forward);
  void step_along_flow(bool forward);
  void step_row(int rows);
  void add_mark();
  void clear_choice();
  void drag_area_to(QPointF point);
  enum class Action;
  static std::optional<Action> action_of(const QKeyEvent& event);
  void perform(Action action);
  void paint_image();
  void paint_lines(const PlacedBox& placed);
  void paint_texts(QPainter& painter, const PlacedBox& placed);
  void paint_labels(QPainter& painter, LaneId lane, const QRectF& place);
  void paint_grid(const TimeAxis& axis);
  void paint_axis(QPainter& painter, const TimeAxis& axis);
  void paint_flows(QPainter& painter);
  void paint_selection(QPainter& painter);
  void paint_area(QPainter& painter);
  void paint_marks(QPainter& painter);
  void paint_hover(QPainter& painter);
  void paint_emptiness(QPainter& painter);

  std::shared_ptr<const Timeline> timeline_;
  SliceColours colours_;
  TimelineLook look_;
  TimeWindow range_{Nanoseconds(0), Nanoseconds(1)};
  int scroll_ = 0;
  std::set<RowId> pinned_;
  std::set<RowId> folded_;
  RowLayout layout_;
  std::optional<SliceRef> selected_;
  std::optional<SliceRef> hovered_;
  SliceFlows flows_;  ///< of the chosen slice
  std::optional<TimelineArea> area_;
  TimeMarks marks_;

  Drag drag_ = Drag::kNone;
  QPointF pressed_;
  QPointF pointer_;
  TimeWindow range_at_press_{Nanoseconds(0), Nanoseconds(1)};
  int scroll_at_press_ = 0;
  std::optional<SliceRef> centred_;  ///< by the key that fits it when pressed again

  QImage image_;
  ImageKey image_key_;
  std::uint64_t version_ = 1;
  LaneRaster raster_;
  std::vector<Argb> line_;
  LabelCache labels_;
};

/// What the keys and the mouse do in a timeline, for the sheet that lists them.
struct TimelineShortcut {
  const char* keys;
  const char* meaning;
};
const std::vector<TimelineShortcut>& timeline_shortcuts();

}  // namespace cohort
