#include "gui/timeline/timeline_view.hpp"

#include <QApplication>
#include <QMouseEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace cohort {
namespace {

constexpr double kZoomStep = 1.25;
constexpr double kNotch = 120;  ///< of a wheel, in what Qt counts
constexpr int kHitPixels = 3;
constexpr int kDragPixels = 4;
constexpr int kNearMark = 6;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QWidget(parent), look_(look_of(theme_of(ThemeKind::kLight))) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Timeline"));
  labels_.clear(look_.font);
}

TimelineView::~TimelineView() = default;

void TimelineView::set_timeline(std::shared_ptr<const Timeline> timeline) {
  timeline_ = std::move(timeline);
  colours_ = timeline_ ? colour_slices(*timeline_, Colouring::kOpType) : SliceColours();
  pinned_.clear();
  folded_ = timeline_ ? rows_folded_at_first(*timeline_) : std::set<RowId>();
  labels_.clear(look_.font);
  scroll_ = 0;
  hovered_.reset();
  centred_.reset();
  drag_ = Drag::kNone;
  marks_ = {};
  select(std::nullopt);
  select_area(std::nullopt);
  range_ = {Nanoseconds(0), Nanoseconds(1)};
  show_all();
  lay_out();
  Q_EMIT marks_changed();
}

void TimelineView::set_colours(SliceColours colours) {
  assert(!timeline_ || colours.size() == timeline_->parts().size());
  colours_ = std::move(colours);
  ++version_;
  update();
  Q_EMIT colours_changed();
}

void TimelineView::set_look(const TimelineLook& look) {
  look_ = look;
  labels_.clear(look_.font);
  ++version_;
  update();
  Q_EMIT colours_changed();
}

ZoomLimits TimelineView::limits() const { return {timeline_->window(), Nanoseconds(1)}; }

void TimelineView::set_visible_range(TimeWindow range) {
  if (!timeline_) return;
  range = limits().fit(range);
  if (range == range_) return;
  range_ = range;
  centred_.reset();
  update();
  Q_EMIT range_changed(range_);
}

void TimelineView::show_all() {
  if (!timeline_) return;
  const TimeWindow all = timeline_->window();
  const Nanoseconds margin = all.length() / 100;
  set_visible_range({all.start - margin, all.end + margin});
}

void TimelineView::select(std::optional<SliceRef> slice) {
  if (slice && !(timeline_ && timeline_->contains(*slice))) slice.reset();
  if (slice == selected_) return;
  selected_ = slice;
  centred_.reset();
  flows_ = selected_ ? flows_of(*timeline_, *selected_) : SliceFlows();
  update();
  Q_EMIT slice_selected(selected_);
}

void TimelineView::reveal(SliceRef slice) {
  const auto place = timeline_ ? timeline_->place(slice) : std::nullopt;
  if (!place) return;
  const TimeWindow own = timeline_->window(slice);
  if (own.length() > range_.length()) {
    zoom_to(slice);
  } else if (own.start < range_.start || own.end > range_.end) {
    const Nanoseconds start = own.start + own.length() / 2 - range_.length() / 2;
    set_visible_range({start, start + range_.length()});
  }
  if (const auto box = rectangle(slice); box && !layout_.find(place->row)->pinned) {
    const int above = rows_top() - static_cast<int>(box->top());
    const int below = static_cast<int>(box->bottom()) - height();
    if (above > 0) set_scroll(scroll_ - above);
    if (below > 0) set_scroll(scroll_ + below);
  }
}

void TimelineView::zoom_to(SliceRef slice) {
  if (!timeline_ || !timeline_->contains(slice)) return;
  const TimeWindow own = timeline_->window(slice);
  const Nanoseconds around = std::max(own.length(), Nanoseconds(1));
  set_visible_range({own.start - around, own.end + around});
}

void TimelineView::select_area(std::optional<TimelineArea> area) {
  if (area == area_) return;
  area_ = std::move(area);
  update();
  Q_EMIT area_selected(area_);
}

void TimelineView::set_marks(TimeMarks marks) {
  marks_ = std::move(marks);
  update();
  Q_EMIT marks_changed();
}

void TimelineView::set_pinned(RowId row, bool pinned) {
  if (pinned ? pinned_.insert(row).second : pinned_.erase(row) > 0) lay_out();
}

void TimelineView::set_folded(RowId row, bool folded) {
  if (folded ? folded_.insert(row).second : folded_.erase(row) > 0) lay_out();
}

void TimelineView::reveal_row(RowId row) {
  const RowBox* box = layout_.find(row);
  if (box == nullptr || box->pinned) return;
  const int visible = height() - rows_top();
  if (box->y < scroll_) set_scroll(box->y - RowMetrics().header);
  if (box->y + box->height > scroll_ + visible) set_scroll(std::min(box->y, box->y + box->height - visible));
}

void TimelineView::lay_out() {
  layout_ = timeline_ ? RowLayout(*timeline_, pinned_, folded_) : RowLayout();
  ++version_;
  scroll_ = std::clamp(scroll_, 0, most_scroll());
  update();
  Q_EMIT rows_changed();
}

int TimelineView::axis_height() const { return 26; }

int TimelineView::rows_top() const { return axis_height() + layout_.pinned_height(); }

int TimelineView::most_scroll() const { return std::max(0, layout_.scrolled_height() - (height() - rows_top())); }

void TimelineView::set_scroll(int pixels) {
  pixels = std::clamp(pixels, 0, most_scroll());
  if (pixels == scroll_) return;
  scroll_ = pixels;
  update();
  Q_EMIT scrolled(scroll_);
}

std::vector<TimelineView::PlacedBox> TimelineView::visible_boxes() const {
  std::vector<PlacedBox> boxes;
  for (const RowBox& box : layout_.scrolled()) {
    const int y = rows_top() + box.y - scroll_;
    if (y + box.height > rows_top() && y < height()) boxes.push_back({&box, y});
  }
  for (const RowBox& box : layout_.pinned()) boxes.push_back({&box, axis_height() + box.y});
  return boxes;
}

std::optional<TimelineView::PlacedBox> TimelineView::box_at(int y) const {
  if (y < axis_height()) return std::nullopt;
  const bool pinned = y < rows_top();
  const int offset = pinned ? axis_height() : rows_top() - scroll_;
  const RowBox* box = RowLayout::at(pinned ? layout_.pinned() : layout_.scrolled(), y - offset);
  if (box == nullptr) return std::nullopt;
  return PlacedBox{box, box->y + offset};
}

std::optional<QRectF> TimelineView::rectangle(SliceRef slice) const {
  const auto place = timeline_ ? timeline_->place(slice) : std::nullopt;
  const RowBox* box = place ? layout_.find(place->row) : nullptr;
  if (box == nullptr) return std::nullopt;
  const TimeScale time = scale();
  const TimeWindow own = timeline_->window(slice);
  const auto lane = static_cast<int>(to_index(place->lane) - to_index(timeline_->row(place->row).first_lane));
  const int top = (box->pinned ? axis_height() : rows_top() - scroll_) + box->y + lane * box->lane_height;
  return QRectF(QPointF(time.exact_x(own.start), top),
                QPointF(time.exact_x(own.end), top + std::max(1, box->lane_height - 1)));
}

std::optional<SliceRef> TimelineView::slice_at(QPointF point) const {
  const auto placed = timeline_ ? box_at(static_cast<int>(point.y())) : std::nullopt;
  if (!placed) return std::nullopt;
  const int inside = placed->box->y + static_cast<int>(point.y()) - placed->y;
  const auto index = RowLayout::lane_at(*timeline_, *placed->box, inside);
  if (!index) return std::nullopt;
  const LaneId id = timeline_->row(placed->box->row).lane(*index);
  const Lane& lane = timeline_->lane(id);
  const TimeScale time = scale();
  const auto x = static_cast<std::int64_t>(std::floor(point.x()));
  const Nanoseconds from = time.time_at(x);
  const TimeWindow pixel{from, std::max(from + Nanoseconds(1), time.time_at(x + 1))};
  // What is drawn there is the longest of all that touch the pixel.
  auto hit = lane.longest_in(pixel);
  if (!hit) hit = lane.at(from, time.length_of(kHitPixels));
  if (!hit) return std::nullopt;
  return timeline_->slice_at(id, *hit);
}

QSize TimelineView::sizeHint() const { return {900, 500}; }
QSize TimelineView::minimumSizeHint() const { return {200, 120}; }

void TimelineView::zoom(double factor, int x) {
  if (timeline_) set_visible_range(zoomed(scale(), factor, x, limits()));
}

void TimelineView::pan(std::int64_t pixels) {
  if (timeline_) set_visible_range(panned(scale(), pixels, limits()));
}

void TimelineView::hover_at(QPointF point) {
  pointer_ = point;
  const auto slice = slice_at(point);
  // The label follows the pointer.
  if (slice || hovered_) update();
  if (slice == hovered_) return;
  hovered_ = slice;
  Q_EMIT slice_hovered(hovered_);
}

void TimelineView::focus_selection() {
  if (!selected_) {
    if (area_) set_visible_range(area_->window);
    return;
  }
  if (centred_ == selected_) {
    zoom_to(*selected_);
    return;
  }
  reveal(*selected_);
  const TimeWindow own = timeline_->window(*selected_);
  const Nanoseconds start = own.start + own.length() / 2 - range_.length() / 2;
  set_visible_range({start, start + range_.length()});
  centred_ = selected_;
}

void TimelineView::step_in_lane(bool forward) {
  if (!selected_) return;
  const auto next = forward ? timeline_->next_in_lane(*selected_) : timeline_->previous_in_lane(*selected_);
  if (!next) return;
  select(next);
  reveal(*next);
}

void TimelineView::step_along_flow(bool forward) {
  const auto next = forward ? follow(flows_) : follow_back(flows_);
  if (!next) return;
  select(next);
  reveal(*next);
}

void TimelineView::step_row(int rows) {
  const auto place = selected_ ? timeline_->place(*selected_) : std::nullopt;
  if (!place) {
    set_scroll(scroll_ + rows * RowMetrics().lane);
    return;
  }
  std::vector<LaneId> lanes;
  for (const RowId row : layout_.order()) {
    for (std::size_t l = 0; l < timeline_->row(row).lanes; ++l) lanes.push_back(timeline_->row(row).lane(l));
  }
  const auto here = std::find(lanes.begin(), lanes.end(), place->lane) - lanes.begin();
  const auto there = here + rows;
  if (there < 0 || there >= static_cast<std::ptrdiff_t>(lanes.size())) return;
  const LaneId id = lanes[static_cast<std::size_t>(there)];
  const TimeWindow own = timeline_->window(*selected_);
  const auto nearest = timeline_->lane(id).at(own.start + own.length() / 2, kMostTime);
  if (!nearest) return;
  select(timeline_->slice_at(id, *nearest));
  reveal(*selected_);
}

void TimelineView::add_mark() {
  if (!timeline_) return;
  Nanoseconds time = range_.start + range_.length() / 2;
  if (underMouse()) time = scale().time_at(static_cast<std::int64_t>(pointer_.x()));
  if (selected_) time = timeline_->window(*selected_).start;
  if (!marks_.remove(time)) marks_.add(time);
  update();
  Q_EMIT marks_changed();
}

void TimelineView::clear_choice() {
  if (area_) {
    select_area(std::nullopt);
  } else {
    select(std::nullopt);
  }
}

void TimelineView::drag_area_to(QPointF point) {
  const TimeScale time = scale();
  const auto from = static_cast<std::int64_t>(std::min(pressed_.x(), point.x()));
  const auto to = static_cast<std::int64_t>(std::max(pressed_.x(), point.x()));
  TimelineArea area;
  area.window = {time.time_at(from), std::max(time.time_at(to), time.time_at(from) + Nanoseconds(1))};
  const bool all_rows = pressed_.y() < axis_height();
  if (all_rows) area.rows = layout_.order();
  const double top = std::min(pressed_.y(), point.y());
  const double bottom = std::max(pressed_.y(), point.y());
  for (const PlacedBox& placed : visible_boxes()) {
    const bool touches = placed.y <= bottom && placed.y + placed.box->height > top;
    if (!all_rows && touches && !placed.box->is_header) area.rows.push_back(placed.box->row);
  }
  area_ = std::move(area);
  update();
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  set_scroll(std::min(scroll_, most_scroll()));
  Q_EMIT rows_changed();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint pixels = event->pixelDelta();
  const QPoint turned = event->angleDelta();
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    const double turns = (turned.y() != 0 ? turned.y() : turned.x()) / kNotch;
    zoom(std::pow(kZoomStep, -turns), static_cast<int>(event->position().x()));
  } else {
    constexpr double kPixelsOfNotch = 60;
    const auto moved = [&](int exact, int angle) {
      return exact != 0 ? exact : static_cast<int>(std::lround(angle / kNotch * kPixelsOfNotch));
    };
    const int across = moved(pixels.x(), turned.x());
    const int along = moved(pixels.y(), turned.y());
    if (event->modifiers().testFlag(Qt::ShiftModifier)) {
      pan(-(along != 0 ? along : across) * 2);
    } else {
      if (along != 0) set_scroll(scroll_ - along);
      if (across != 0) pan(-across);
    }
  }
  // Row names and curves pass their turns on; what they are over is none of the slices.
  if (underMouse()) hover_at(event->position());
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  range_at_press_ = range_;
  scroll_at_press_ = scroll_;
  const bool left = event->button() == Qt::LeftButton;
  if (event->button() == Qt::MiddleButton || (left && event->modifiers().testFlag(Qt::ShiftModifier))) {
    drag_ = Drag::kPan;
    setCursor(Qt::ClosedHandCursor);
  } else if (left) {
    drag_ = Drag::kClick;
  } else {
    QWidget::mousePressEvent(event);
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF point = event->position();
  if (drag_ == Drag::kPan && timeline_) {
    const TimeScale at_press{range_at_press_, std::max(1, width())};
    set_visible_range(panned(at_press, static_cast<std::int64_t>(pressed_.x() - point.x()), limits()));
    set_scroll(scroll_at_press_ + static_cast<int>(pressed_.y() - point.y()));
  }
  if (drag_ == Drag::kClick && timeline_ && std::abs(point.x() - pressed_.x()) >= kDragPixels) drag_ = Drag::kArea;
  if (drag_ == Drag::kArea) drag_area_to(point);
  hover_at(point);
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = std::exchange(drag_, Drag::kNone);
  unsetCursor();
  if (drag == Drag::kArea) {
    drag_area_to(event->position());
    Q_EMIT area_selected(area_);
  } else if (drag == Drag::kClick && timeline_) {
    if (event->position().y() < axis_height()) {
      const auto mark =
          marks_.near(scale().time_at(static_cast<std::int64_t>(event->position().x())), scale().length_of(kNearMark));
      if (mark)
        set_visible_range({mark->time - range_.length() / 2, mark->time + (range_.length() + Nanoseconds(1)) / 2});
      return;
    }
    select(slice_at(event->position()));
  }
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto slice = event->button() == Qt::LeftButton ? slice_at(event->position()) : std::nullopt;
  if (!slice) return;
  select(slice);
  zoom_to(*slice);
}

void TimelineView::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  if (!hovered_) return;
  hovered_.reset();
  update();
  Q_EMIT slice_hovered(hovered_);
}

}  // namespace cohort
