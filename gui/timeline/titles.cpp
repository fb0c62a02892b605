#include "gui/timeline/titles.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

constexpr int kButton = 16;
constexpr int kTitlePadding = 6;
constexpr int kBadge = 4;

}  // namespace

TimelineTitles::TimelineTitles(TimelineView& view, QWidget* parent) : QWidget(parent), view_(view) {
  setMouseTracking(true);
  setAccessibleName(tr("Names of rows"));
  connect(&view, &TimelineView::scrolled, this, qOverload<>(&QWidget::update));
  connect(&view, &TimelineView::rows_changed, this, qOverload<>(&QWidget::update));
  connect(&view, &TimelineView::slice_selected, this, qOverload<>(&QWidget::update));
}

QSize TimelineTitles::sizeHint() const { return {210, 400}; }

std::vector<TimelineTitles::Place> TimelineTitles::places() const {
  std::vector<Place> places;
  const int top = view_.axis_height() + view_.rows().pinned_height();
  for (const RowBox& box : view_.rows().scrolled()) {
    const QRect rect(0, top + box.y - view_.scroll(), width(), box.height);
    if (rect.bottom() >= top && rect.top() < height()) places.push_back({&box, rect});
  }
  for (const RowBox& box : view_.rows().pinned()) {
    places.push_back({&box, QRect(0, view_.axis_height() + box.y, width(), box.height)});
  }
  return places;
}

std::optional<TimelineTitles::Place> TimelineTitles::place_at(int y) const {
  // Pinned ones, which are last, lie over the others.
  std::optional<Place> found;
  for (const Place& place : places()) {
    const bool covered = !place.box->pinned && y < view_.axis_height() + view_.rows().pinned_height();
    if (!covered && place.rect.top() <= y && y <= place.rect.bottom()) found = place;
  }
  return found;
}

std::optional<TimelineTitles::Place> TimelineTitles::place_of(RowId row) const {
  for (const Place& place : places()) {
    if (!place.box->is_header && place.box->row == row) return place;
  }
  return std::nullopt;
}

QRect TimelineTitles::fold_rect(const Place& place) const {
  return {kTitlePadding + kBadge, place.rect.top() + 1, kButton, kButton};
}

QRect TimelineTitles::pin_rect(const Place& place) const {
  return {width() - kButton - kTitlePadding, place.rect.top() + 1, kButton, kButton};
}

QRect TimelineTitles::pin_button(RowId row) const {
  const auto place = place_of(row);
  return place ? pin_rect(*place) : QRect();
}

QRect TimelineTitles::fold_button(RowId row) const {
  const auto place = place_of(row);
  return place && view_.timeline()->row(row).lanes > 1 ? fold_rect(*place) : QRect();
}

void TimelineTitles::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const TimelineLook& look = view_.look();
  painter.fillRect(rect(), look.background);
  painter.setFont(look.font);
  if (view_.timeline()) {
    const int pinned_bottom = view_.axis_height() + view_.rows().pinned_height();
    painter.setClipRect(0, pinned_bottom, width(), height() - pinned_bottom);
    for (const Place& place : places()) {
      if (place.box->pinned) painter.setClipping(false);
      place.box->is_header ? paint_header(painter, place) : paint_row(painter, place);
    }
    painter.setClipping(false);
    if (view_.rows().pinned_height() > 0) painter.fillRect(0, pinned_bottom - 2, width(), 2, look.line);
  }
  painter.fillRect(0, 0, width(), view_.axis_height(), look.alternate);
  painter.fillRect(0, view_.axis_height() - 1, width(), 1, look.line);
  painter.fillRect(width() - 1, 0, 1, height(), look.line);
}

void TimelineTitles::paint_header(QPainter& painter, const Place& place) const {
  const TimelineLook& look = view_.look();
  const QRect band = place.rect.adjusted(0, 0, 0, -RowMetrics().below_header);
  painter.fillRect(place.rect, look.background);
  painter.fillRect(band, look.alternate);
  painter.fillRect(band.left(), band.bottom(), width(), 1, look.line);
  QFont bold = look.font;
  bold.setBold(true);
  painter.setFont(bold);
  painter.setPen(look.text);
  const TimelineRow& row = view_.timeline()->row(place.box->row);
  const QString text = painter.fontMetrics().elidedText(qt(row.group), Qt::ElideMiddle, width() - 2 * kTitlePadding);
  painter.drawText(band.adjusted(kTitlePadding, 0, -kTitlePadding, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
  painter.setFont(look.font);
}

void TimelineTitles::paint_row(QPainter& painter, const Place& place) const {
  const TimelineLook& look = view_.look();
  const Timeline& timeline = *view_.timeline();
  const TimelineRow& row = timeline.row(place.box->row);
  painter.fillRect(place.rect, look.background);
  // Which part it is of: one colour each, as well as its name.
  const bool several = timeline.parts().size() > 1;
  if (several) {
    const QColor badge = row.part == 0 ? look.units : row.part == 1 ? look.counter : look.busy;
    painter.fillRect(place.rect.left(), place.rect.top(), kBadge, place.rect.height() - 3, badge);
  }
  painter.setPen(look.dim_text);
  painter.setRenderHint(QPainter::Antialiasing);
  if (row.lanes > 1) {
    const QRectF box = QRectF(fold_rect(place)).adjusted(4, 5, -4, -5);
    const QPointF down[] = {box.topLeft(), box.topRight(), QPointF(box.center().x(), box.bottom())};
    const QPointF right[] = {box.topLeft() + QPointF(1, -1), QPointF(box.right(), box.center().y()),
                             box.bottomLeft() + QPointF(1, 1)};
    painter.setBrush(look.dim_text);
    painter.drawPolygon(place.box->folded ? right : down, 3);
  }
  const bool shows_pin = place.box->pinned || hovered_ == place.box->row;
  if (shows_pin) {
    const QRectF pin = QRectF(pin_rect(place)).adjusted(4, 2, -4, -2);
    painter.setPen(QPen(place.box->pinned ? look.hover : look.dim_text, 1.4));
    painter.setBrush(place.box->pinned ? QBrush(look.hover) : Qt::NoBrush);
    painter.drawEllipse(QRectF(pin.center().x() - 3.5, pin.top(), 7, 7));
    painter.drawLine(QPointF(pin.center().x(), pin.top() + 7), QPointF(pin.center().x(), pin.bottom()));
  }
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(look.text);
  const int left = kBadge + kTitlePadding + kButton + 2;
  const int room = width() - left - (shows_pin ? kButton + kTitlePadding : kTitlePadding);
  QString text = qt(row.title);
  if (place.box->pinned && !row.group.empty()) text = qt(row.group) + QStringLiteral(" / ") + text;
  if (several && !timeline.parts()[row.part].label.empty()) {
    text += QStringLiteral("  ") + qt(timeline.parts()[row.part].label);
  }
  const QRect line(left, place.rect.top(), room, RowMetrics().lane - 1);
  painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(text, Qt::ElideMiddle, line.width()));
}

QString TimelineTitles::tip_of(const Place& place) const {
  const Timeline& timeline = *view_.timeline();
  const TimelineRow& row = timeline.row(place.box->row);
  if (place.box->is_header) return qt(row.group);
  std::string text = fmt::format("{}\n{}, {} slices, busy {}", timeline.full_title(place.box->row), to_string(row.kind),
                                 row.slices, format_time(row.busy));
  if (row.left_out > 0) text += fmt::format("\n{} slices are not drawn: too many overlap", row.left_out);
  return qt(text);
}

bool TimelineTitles::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && view_.timeline()) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto place = place_at(help->pos().y());
    if (!place) {
      QToolTip::hideText();
    } else if (!place->box->is_header && pin_rect(*place).contains(help->pos())) {
      QToolTip::showText(help->globalPos(), place->box->pinned ? tr("Unpin this row") : tr("Pin this row to the top"),
                         this);
    } else {
      QToolTip::showText(help->globalPos(), tip_of(*place), this);
    }
    return true;
  }
  return QWidget::event(event);
}

void TimelineTitles::mousePressEvent(QMouseEvent* event) {
  const QPoint point = event->position().toPoint();
  const auto place = view_.timeline() && event->button() == Qt::LeftButton ? place_at(point.y()) : std::nullopt;
  if (!place || place->box->is_header) return;
  const RowId row = place->box->row;
  if (pin_rect(*place).contains(point)) {
    view_.set_pinned(row, !place->box->pinned);
  } else if (view_.timeline()->row(row).lanes > 1 && fold_rect(*place).contains(point)) {
    view_.set_folded(row, !place->box->folded);
  } else {
    view_.select_area(TimelineArea{view_.visible_range(), {row}});
  }
  view_.setFocus();
}

void TimelineTitles::mouseMoveEvent(QMouseEvent* event) {
  const auto place = view_.timeline() ? place_at(event->position().toPoint().y()) : std::nullopt;
  const auto row = place && !place->box->is_header ? std::optional(place->box->row) : std::nullopt;
  if (row != hovered_) update();
  hovered_ = row;
}

void TimelineTitles::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  hovered_.reset();
  update();
}

void TimelineTitles::wheelEvent(QWheelEvent* event) { QApplication::sendEvent(&view_, event); }

}  // namespace cohort
