#include "gui/chart/chart_painter.hpp"

#include <QFontMetricsF>
#include <QPolygonF>
#include <cmath>

namespace cohort {
namespace {

QPointF qt_point(DrawnPosition position) { return {position.x, position.y}; }

class MarkPainter {
 public:
  MarkPainter(QPainter& painter, const Palette& palette, const QFont& font)
      : painter_(painter), palette_(palette), font_(font) {}

  void draw(const DrawnLine& line) {
    QPen pen(qt_colour(palette_, line.ink), line.width);
    pen.setCapStyle(Qt::FlatCap);
    if (line.dashed) pen.setDashPattern({5 / line.width, 4 / line.width});
    painter_.setPen(pen);
    // A thin line along the pixels is sharp rather than two pixels of half its colour.
    const bool level = line.from.y == line.to.y;
    const bool upright = line.from.x == line.to.x;
    QPointF shift;
    if (level && line.width < 2) shift.setY(std::floor(line.from.y) + 0.5 - line.from.y);
    if (upright && line.width < 2) shift.setX(std::floor(line.from.x) + 0.5 - line.from.x);
    painter_.drawLine(qt_point(line.from) + shift, qt_point(line.to) + shift);
  }

  void draw(const DrawnPath& path) {
    QPolygonF polygon;
    for (const DrawnPosition position : path.positions) polygon.append(qt_point(position));
    const QColor colour = qt_colour(palette_, path.ink);
    if (path.filled) {
      painter_.setPen(Qt::NoPen);
      painter_.setBrush(colour);
      painter_.drawPolygon(polygon);
      return;
    }
    painter_.setPen(QPen(colour, path.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin));
    painter_.drawPolyline(polygon);
  }

  void draw(const DrawnRectangle& rectangle) {
    const DrawnBox& box = rectangle.box;
    painter_.fillRect(QRectF(box.x, box.y, box.width, box.height), qt_colour(palette_, rectangle.ink));
  }

  void draw(const DrawnCircle& circle) {
    const QColor colour = qt_colour(palette_, circle.ink);
    painter_.setPen(circle.filled ? QPen(Qt::NoPen) : QPen(colour, 2));
    painter_.setBrush(circle.filled ? QBrush(colour) : QBrush(Qt::NoBrush));
    painter_.drawEllipse(qt_point(circle.centre), circle.radius, circle.radius);
  }

  void draw(const DrawnText& text) {
    QFont font = font_;
    font.setPixelSize(static_cast<int>(std::lround(text.size)));
    font.setBold(text.bold);
    const QString shown = QString::fromStdString(text.text);
    const double width = QFontMetricsF(font).horizontalAdvance(shown);
    const double left = text.anchor == TextAnchor::kStart ? 0 : text.anchor == TextAnchor::kMiddle ? width / 2 : width;
    painter_.setFont(font);
    painter_.setPen(qt_colour(palette_, text.ink));
    if (!text.upwards) {
      painter_.drawText(QPointF(text.position.x - left, text.position.y), shown);
      return;
    }
    painter_.save();
    painter_.translate(qt_point(text.position));
    painter_.rotate(-90);
    painter_.drawText(QPointF(-left, 0), shown);
    painter_.restore();
  }

 private:
  QPainter& painter_;
  const Palette& palette_;
  const QFont& font_;
};

}  // namespace

QColor qt_colour(Colour colour) { return {colour.red, colour.green, colour.blue}; }

QColor qt_colour(const Palette& palette, const Ink& ink) {
  QColor colour = qt_colour(colour_of(palette, ink));
  colour.setAlphaF(static_cast<float>(ink.opacity));
  return colour;
}

void paint(QPainter& painter, const Drawing& drawing, const Palette& palette, const QFont& font) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  MarkPainter marks(painter, palette, font);
  for (const DrawnMark& mark : drawing.marks) {
    std::visit([&](const auto& one) { marks.draw(one); }, mark);
  }
  painter.restore();
}

QImage to_image(const Drawing& drawing, const Palette& palette, const QFont& font, double scale) {
  const auto pixels = [scale](double length) { return std::max(static_cast<int>(std::ceil(length * scale)), 1); };
  QImage image(pixels(drawing.size.width), pixels(drawing.size.height), QImage::Format_RGB32);
  image.fill(qt_colour(palette.background));
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(painter, drawing, palette, font);
  return image;
}

}  // namespace cohort
