#include "gui/compare/slice_flash.hpp"

#include <QEvent>
#include <QPainter>
#include <chrono>

namespace cohort {
namespace {

constexpr int kSteps = 12;
constexpr std::chrono::milliseconds kStep{90};

}  // namespace

SliceFlash::SliceFlash(TimelineView& view) : QWidget(&view), view_(&view) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setAttribute(Qt::WA_NoSystemBackground);
  setFocusPolicy(Qt::NoFocus);
  timer_.setInterval(kStep);
  connect(&timer_, &QTimer::timeout, this, &SliceFlash::fade);
  view.installEventFilter(this);
  hide();
}

void SliceFlash::flash(const std::vector<SliceRef>& slices) {
  const auto& timeline = view_->timeline();
  const TimeWindow shown = view_->visible_range();
  slices_.clear();
  for (const SliceRef slice : slices) {
    if (slices_.size() == kMost) break;
    if (!timeline || !timeline->contains(slice)) continue;
    const TimeWindow own = timeline->window(slice);
    if (own.start < shown.end && own.end >= shown.start) slices_.push_back(slice);
  }
  left_ = kSteps;
  resize(view_->size());
  show();
  raise();
  timer_.start();
  update();
}

void SliceFlash::fade() {
  if (--left_ > 0) {
    update();
    return;
  }
  timer_.stop();
  slices_.clear();
  hide();
}

void SliceFlash::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setClipRect(0, view_->axis_height(), width(), height());
  QColor colour = view_->look().selection;
  colour.setAlphaF(static_cast<float>(left_) / kSteps);
  // Wide at first, then closing in on the slice.
  const double grown = 2.0 + left_;
  painter.setPen(QPen(colour, 3));
  for (const SliceRef slice : slices_) {
    const auto place = view_->rectangle(slice);
    if (!place) continue;
    const QRectF frame = place->intersected(QRectF(-20, 0, width() + 40, height()));
    painter.drawRoundedRect(frame.adjusted(-grown, -grown, grown, grown), 4, 4);
  }
}

bool SliceFlash::eventFilter(QObject* watched, QEvent* event) {
  if (watched == view_ && event->type() == QEvent::Resize) resize(view_->size());
  return QWidget::eventFilter(watched, event);
}

}  // namespace cohort
