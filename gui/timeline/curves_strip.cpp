#include "gui/timeline/curves_strip.hpp"

#include <fmt/format.h>

#include <QApplication>
#include <QHelpEvent>
#include <QImage>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/window/qt_text.hpp"

namespace cohort {
namespace {

constexpr int kHeight = 26;
constexpr int kCurvePadding = 6;

}  // namespace

TimelineCurvesStrip::TimelineCurvesStrip(TimelineView& view, QWidget* parent) : QWidget(parent), view_(view) {
  setMouseTracking(true);
  setAccessibleName(tr("Curves over time"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(&view, &TimelineView::range_changed, this, qOverload<>(&QWidget::update));
}

void TimelineCurvesStrip::set_curves(std::vector<TimelineCurve> curves) {
  std::stable_sort(curves.begin(), curves.end(), [](const TimelineCurve& a, const TimelineCurve& b) {
    return (a.kind == CurveKind::kCounter) < (b.kind == CurveKind::kCounter);
  });
  if (curves.size() > kMostShown) curves.resize(kMostShown);
  curves_ = std::move(curves);
  setVisible(!curves_.empty());
  updateGeometry();
  update();
}

void TimelineCurvesStrip::set_name_width(int width) {
  name_width_ = width;
  update();
}

QSize TimelineCurvesStrip::sizeHint() const { return {400, static_cast<int>(curves_.size()) * kHeight}; }

QRect TimelineCurvesStrip::place_of(std::size_t curve) const {
  return {name_width_, static_cast<int>(curve) * kHeight, std::max(1, width() - name_width_), kHeight};
}

QString TimelineCurvesStrip::value_text(const TimelineCurve& curve, double value) const {
  if (curve.is_share) return QStringLiteral("%1%").arg(value * 100, 0, 'f', 0);
  const auto says = [&](const char* word) { return curve.title.find(word) != std::string::npos; };
  const bool is_memory = says("bytes") || says("emory");
  if (is_memory && value >= 0) return qt(format_bytes({static_cast<std::int64_t>(value)}));
  return qt(fmt::format("{:.4g}", value));
}

void TimelineCurvesStrip::paint_name(QPainter& painter, std::size_t index) const {
  const TimelineCurve& curve = curves_[index];
  const TimelineLook& look = view_.look();
  const QRect place(kCurvePadding, place_of(index).top(), name_width_ - 2 * kCurvePadding, kHeight);
  QString value;
  if (!curve.curve.empty()) {
    const TimeScale time = view_.scale();
    const TimeWindow shown = pointer_ ? TimeWindow{time.time_at(*pointer_), time.time_at(*pointer_ + 1)} : time.window;
    value = value_text(curve, curve.curve.mean(shown));
  }
  const int wide = painter.fontMetrics().horizontalAdvance(value);
  QString title = qt(curve.title);
  if (view_.timeline()->parts().size() > 1)
    title += QStringLiteral("  ") + qt(view_.timeline()->parts()[curve.part].label);
  if (!curve.unknown.empty() && !curve.curve.empty()) title += QStringLiteral(" *");
  painter.setPen(look.text);
  painter.drawText(place.adjusted(0, 0, -wide - kCurvePadding, 0), Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(title, Qt::ElideMiddle, place.width() - wide - kCurvePadding));
  painter.setPen(look.dim_text);
  painter.drawText(place, Qt::AlignVCenter | Qt::AlignRight, value);
}

void TimelineCurvesStrip::paint_curve(QPainter& painter, std::size_t index) const {
  const TimelineCurve& curve = curves_[index];
  const TimelineLook& look = view_.look();
  const QRect place = place_of(index);
  if (curve.curve.empty()) {
    painter.setPen(look.dim_text);
    const QString text = tr("unknown: %1").arg(qt(curve.unknown));
    painter.drawText(place.adjusted(kCurvePadding, 0, -kCurvePadding, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(text, Qt::ElideRight, place.width() - 2 * kCurvePadding));
    return;
  }
  const QColor colour = curve.kind == CurveKind::kDeviceBusy  ? look.busy
                        : curve.kind == CurveKind::kUnitsBusy ? look.units
                                                              : look.counter;
  painter.drawImage(place.topLeft(), picture_of(curve, place.size(), colour));
}

/// Pixel by pixel: polygons of as many corners as there are pixels would take most of a frame's time.
QImage TimelineCurvesStrip::picture_of(const TimelineCurve& curve, QSize size, const QColor& colour) const {
  const double ratio = devicePixelRatioF();
  QImage image((QSizeF(size) * ratio).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  const double most = curve.is_share ? 1 : curve.curve.most();
  const int bottom = image.height() - 2;
  const double high = bottom - std::ceil(4 * ratio);
  std::vector<int> tops;
  for (const double value : curve.curve.sample(view_.visible_range(), image.width())) {
    const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
    tops.push_back(bottom - static_cast<int>(std::lround(share * high)));
  }
  const Argb background = view_.look().background.rgb();
  const Argb line = colour.rgb();
  const Argb under = blend(line, background, 0.36);
  for (int y = 0; y < image.height(); ++y) {
    auto* const pixels = reinterpret_cast<Argb*>(image.scanLine(y));
    for (std::size_t x = 0; x < tops.size(); ++x) {
      const int before = tops[x > 0 ? x - 1 : 0];
      const bool on_line = std::min(tops[x], before) <= y && y <= std::max(tops[x], before) && y <= bottom;
      pixels[x] = on_line && (y == tops[x] || before != tops[x]) ? line
                  : y > tops[x] && y <= bottom                   ? under
                                                                 : background;
    }
  }
  return image;
}

void TimelineCurvesStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const TimelineLook& look = view_.look();
  painter.fillRect(rect(), look.background);
  painter.setFont(look.font);
  if (!view_.timeline()) return;
  for (std::size_t c = 0; c < curves_.size(); ++c) {
    paint_curve(painter, c);
    paint_name(painter, c);
    painter.fillRect(0, place_of(c).bottom(), width(), 1, look.line);
  }
  painter.fillRect(name_width_ - 1, 0, 1, height(), look.line);
  if (pointer_) painter.fillRect(name_width_ + *pointer_, 0, 1, height(), look.hover);
}

bool TimelineCurvesStrip::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto at = static_cast<std::size_t>(std::max(0, help->pos().y()) / kHeight);
    QString text;
    if (at < curves_.size()) {
      text = qt(curves_[at].title);
      if (!curves_[at].unknown.empty()) text += QStringLiteral("\n") + qt(curves_[at].unknown);
      if (!curves_[at].is_share) text += tr("\nat most %1").arg(value_text(curves_[at], curves_[at].curve.most()));
    }
    QToolTip::showText(help->globalPos(), text, this);
    return true;
  }
  return QWidget::event(event);
}

void TimelineCurvesStrip::mouseMoveEvent(QMouseEvent* event) {
  const int x = static_cast<int>(event->position().x()) - name_width_;
  pointer_ = x >= 0 ? std::optional(x) : std::nullopt;
  update();
}

void TimelineCurvesStrip::leaveEvent(QEvent* event) {
  QWidget::leaveEvent(event);
  pointer_.reset();
  update();
}

void TimelineCurvesStrip::wheelEvent(QWheelEvent* event) {
  // As over the rows, at the same moment.
  const QPointF point = event->position() - QPointF(name_width_, 0);
  QWheelEvent moved(point, event->globalPosition(), event->pixelDelta(), event->angleDelta(), event->buttons(),
                    event->modifiers(), event->phase(), event->inverted());
  QApplication::sendEvent(&view_, &moved);
  event->accept();
}

}  // namespace cohort
