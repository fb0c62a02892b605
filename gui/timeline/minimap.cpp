#include "gui/timeline/minimap.hpp"

#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace cohort {
namespace {

constexpr int kGrip = 5;
constexpr int kLeastLine = 3;  ///< of a row, with its gap
constexpr int kMostLine = 10;
constexpr int kTop = 4;
constexpr int kLeastMarked = 6;

}  // namespace

TimelineMinimap::TimelineMinimap(TimelineView& view, QWidget* parent) : QWidget(parent), view_(view) {
  setMouseTracking(true);
  setAccessibleName(tr("Map of the whole timeline"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&view, &TimelineView::range_changed, this, qOverload<>(&QWidget::update));
  connect(&view, &TimelineView::rows_changed, this, [this] { redraw(); });
  connect(&view, &TimelineView::colours_changed, this, [this] { redraw(); });
}

void TimelineMinimap::redraw() {
  image_ = QImage();
  update();
}

TimeScale TimelineMinimap::scale() const {
  if (!view_.timeline()) return {{Nanoseconds(0), Nanoseconds(1)}, std::max(1, width())};
  const TimeWindow all = view_.timeline()->window();
  const Nanoseconds margin = all.length() / 100;
  return {{all.start - margin, all.end + margin}, std::max(1, width())};
}

QRectF TimelineMinimap::marked() const {
  const TimeScale time = scale();
  const TimeWindow range = view_.visible_range();
  const double wide = std::max(width(), kLeastMarked);
  double from = std::clamp(time.exact_x(range.start), 0.0, wide - 1);
  double to = std::clamp(time.exact_x(range.end), 0.0, wide);
  if (to - from < kLeastMarked) {
    const double middle = std::clamp((from + to) / 2, kLeastMarked / 2.0, wide - kLeastMarked / 2.0);
    from = middle - kLeastMarked / 2.0;
    to = middle + kLeastMarked / 2.0;
  }
  return {QPointF(from, 0), QPointF(to, height())};
}

/// As many as there is room for: of work first.
std::vector<RowId> TimelineMinimap::rows_to_draw() const {
  std::vector<RowId> rows;
  const auto most = static_cast<std::size_t>(std::max(1, (height() - 2 * kTop) / kLeastLine));
  const std::size_t count = view_.timeline() ? view_.timeline()->rows().size() : 0;
  for (std::size_t r = 0; r < count && rows.size() < most; ++r) {
    const RowKind kind = view_.timeline()->rows()[r].kind;
    if (kind != RowKind::kRanges && kind != RowKind::kWaits && kind != RowKind::kOther)
      rows.push_back(static_cast<RowId>(r));
  }
  return rows;
}

void TimelineMinimap::paintEvent(QPaintEvent* /*event*/) {
  const double ratio = devicePixelRatioF();
  const QSize pixels = (QSizeF(size()) * ratio).toSize().expandedTo({1, 1});
  const TimelineLook& look = view_.look();
  if (image_.size() != pixels) {
    image_ = QImage(pixels, QImage::Format_RGB32);
    image_.setDevicePixelRatio(ratio);
    image_.fill(look.background);
    LaneRaster raster;
    std::vector<Argb> line(static_cast<std::size_t>(pixels.width()));
    const auto rows = rows_to_draw();
    const int high =
        std::clamp((height() - 2 * kTop) / std::max(1, static_cast<int>(rows.size())), kLeastLine, kMostLine);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const TimelineRow& row = view_.timeline()->row(rows[r]);
      raster.draw(view_.timeline()->lane(row.first_lane), view_.colours()[row.part],
                  {scale().window, look.background.rgb(), 0.35}, line);
      const double y = (kTop + static_cast<int>(r) * high) * ratio;
      const auto to = static_cast<int>(std::lround(y + (high - 1) * ratio));
      for (auto at = static_cast<int>(std::lround(y)); at < std::min(to, pixels.height()); ++at) {
        std::memcpy(image_.scanLine(at), line.data(), line.size() * sizeof(Argb));
      }
    }
  }
  QPainter painter(this);
  painter.drawImage(0, 0, image_);
  if (view_.timeline()) {
    const QRectF mark = marked();
    QColor shade = look.alternate;
    shade.setAlpha(170);
    painter.fillRect(QRectF(QPointF(0, 0), mark.bottomLeft()), shade);
    painter.fillRect(QRectF(mark.topRight(), QPointF(width(), height())), shade);
    painter.setPen(look.hover);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(mark.adjusted(0.5, 0.5, -0.5, -1.5));
    painter.fillRect(QRectF(mark.left(), mark.center().y() - 8, 3, 16), look.hover);
    painter.fillRect(QRectF(mark.right() - 3, mark.center().y() - 8, 3, 16), look.hover);
  }
  painter.fillRect(0, height() - 1, width(), 1, look.line);
}

TimelineMinimap::Grip TimelineMinimap::grip_at(double x) const {
  const QRectF mark = marked();
  const double from_start = std::abs(x - mark.left());
  const double from_end = std::abs(x - mark.right());
  if (std::min(from_start, from_end) <= kGrip && mark.width() > 3 * kGrip) {
    return from_start < from_end ? Grip::kStart : Grip::kEnd;
  }
  return mark.left() <= x && x <= mark.right() ? Grip::kMiddle : Grip::kNone;
}

void TimelineMinimap::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !view_.timeline()) return;
  pressed_ = event->position().x();
  grip_ = grip_at(pressed_);
  if (grip_ == Grip::kNone) {
    const TimeWindow range = view_.visible_range();
    const Nanoseconds start = scale().time_at(static_cast<std::int64_t>(pressed_)) - range.length() / 2;
    view_.set_visible_range({start, start + range.length()});
    grip_ = Grip::kMiddle;
  }
  range_at_press_ = view_.visible_range();
}

void TimelineMinimap::mouseMoveEvent(QMouseEvent* event) {
  const double x = event->position().x();
  if (grip_ == Grip::kNone) {
    const Grip grip = grip_at(x);
    const bool edge = grip == Grip::kStart || grip == Grip::kEnd;
    setCursor(edge ? Qt::SizeHorCursor : grip == Grip::kMiddle ? Qt::OpenHandCursor : Qt::ArrowCursor);
    return;
  }
  const TimeScale time = scale();
  const Nanoseconds moved =
      time.time_at(static_cast<std::int64_t>(x)) - time.time_at(static_cast<std::int64_t>(pressed_));
  TimeWindow range = range_at_press_;
  if (grip_ != Grip::kEnd) range.start += moved;
  if (grip_ != Grip::kStart) range.end += moved;
  if (grip_ == Grip::kStart) range.start = std::min(range.start, range.end - Nanoseconds(1));
  if (grip_ == Grip::kEnd) range.end = std::max(range.end, range.start + Nanoseconds(1));
  view_.set_visible_range(range);
}

void TimelineMinimap::mouseReleaseEvent(QMouseEvent* /*event*/) { grip_ = Grip::kNone; }

void TimelineMinimap::mouseDoubleClickEvent(QMouseEvent* /*event*/) { view_.show_all(); }

void TimelineMinimap::wheelEvent(QWheelEvent* event) {
  if (!view_.timeline() || event->angleDelta().y() == 0) return;
  const double factor = std::pow(1.25, -event->angleDelta().y() / 120.0);
  const TimeScale shown = view_.scale();
  const Nanoseconds under = scale().time_at(static_cast<std::int64_t>(event->position().x()));
  const auto x = static_cast<int>(std::clamp(shown.x_at(under), std::int64_t{0}, std::int64_t{shown.width}));
  view_.set_visible_range(zoomed(shown, factor, x, {view_.timeline()->window(), Nanoseconds(1)}));
  event->accept();
}

}  // namespace cohort
