// What a TimelineView paints.

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "gui/timeline/timeline_view.hpp"
#include "gui/window/qt_text.hpp"
#include "view/timeline/details.hpp"

namespace cohort {
namespace {

constexpr int kLabelFrom = 34;  ///< pixels a slice needs for a name
constexpr int kTickApart = 96;
constexpr std::size_t kMostArrows = 64;
constexpr int kPadding = 4;
constexpr int kBelowHeader = RowMetrics().below_header;

}  // namespace

void TimelineView::paintEvent(QPaintEvent* /*event*/) {
  const ImageKey key{range_, size(), devicePixelRatioF(), scroll_, version_};
  if (image_.isNull() || !(key == image_key_)) {
    image_key_ = key;
    paint_image();
  }
  QPainter painter(this);
  painter.drawImage(0, 0, image_);
  if (!timeline_) return;
  painter.setFont(look_.font);
  paint_area(painter);
  paint_flows(painter);
  paint_selection(painter);
  paint_marks(painter);
  if (drag_ != Drag::kPan) paint_hover(painter);
}

void TimelineView::paint_image() {
  const double ratio = image_key_.ratio;
  const QSize pixels = (QSizeF(size()) * ratio).toSize().expandedTo({1, 1});
  if (image_.size() != pixels) image_ = QImage(pixels, QImage::Format_RGB32);
  image_.setDevicePixelRatio(ratio);
  image_.fill(look_.background);
  if (timeline_) {
    const auto boxes = visible_boxes();
    for (const PlacedBox& placed : boxes) paint_lines(placed);
    const TimeAxis axis = time_axis(scale(), timeline_->window().start, kTickApart);
    paint_grid(axis);
    QPainter painter(&image_);
    painter.setFont(look_.font);
    const int pinned_bottom = rows_top();
    painter.setClipRect(0, pinned_bottom, width(), height() - pinned_bottom);
    for (const PlacedBox& placed : boxes) {
      if (placed.box->pinned) painter.setClipping(false);
      paint_texts(painter, placed);
    }
    painter.setClipping(false);
    paint_axis(painter, axis);
    if (layout_.pinned_height() > 0) painter.fillRect(0, pinned_bottom - 2, width(), 2, look_.line);
    if (timeline_->rows().empty()) paint_emptiness(painter);
  }
}

/// Pixels only: each lane's line is copied into every line of the image that it covers.
void TimelineView::paint_lines(const PlacedBox& placed) {
  const double ratio = image_key_.ratio;
  const auto pixel = [&](int y) { return static_cast<int>(std::lround(y * ratio)); };
  const RowBox& box = *placed.box;
  const int least = pixel(box.pinned ? axis_height() : rows_top());
  const auto fill = [&](int from, int to, std::span<const Argb> line) {
    for (int y = std::max(from, least); y < std::min(to, image_.height()); ++y) {
      std::memcpy(image_.scanLine(y), line.data(), line.size() * sizeof(Argb));
    }
  };
  const auto width = static_cast<std::size_t>(image_.width());
  const Argb background = look_.background.rgb();
  line_.assign(width, box.is_header ? look_.alternate.rgb() : background);
  const int band = box.is_header ? box.height - kBelowHeader : box.height;
  if (box.is_header || box.pinned) fill(pixel(placed.y), pixel(placed.y + band), line_);
  if (box.is_header) return;
  const TimelineRow& row = timeline_->row(box.row);
  for (std::size_t l = 0; l < row.lanes; ++l) {
    const int y = placed.y + static_cast<int>(l) * box.lane_height;
    if (y >= height()) break;
    if (pixel(y + box.lane_height) <= least) continue;
    raster_.draw(timeline_->lane(row.lane(l)), colours_[row.part], {range_, background, 0.3}, line_);
    fill(pixel(y), std::max(pixel(y) + 1, pixel(y + box.lane_height) - pixel(1)), line_);
  }
}

void TimelineView::paint_texts(QPainter& painter, const PlacedBox& placed) {
  const RowBox& box = *placed.box;
  const int bottom = placed.y + box.height;
  if (box.is_header) {
    painter.fillRect(0, bottom - kBelowHeader - 1, width(), 1, look_.line);
    return;
  }
  const TimelineRow& row = timeline_->row(box.row);
  if (!box.folded) {
    for (std::size_t l = 0; l < row.lanes; ++l) {
      const int y = placed.y + static_cast<int>(l) * box.lane_height;
      if (y >= height()) break;
      if (y + box.lane_height <= axis_height()) continue;
      paint_labels(painter, row.lane(l), QRectF(0, y, width(), box.lane_height - 1));
    }
  }
  QColor faint = look_.line;
  faint.setAlpha(120);
  painter.fillRect(0, bottom - 2, width(), 1, faint);
}

void TimelineView::paint_labels(QPainter& painter, LaneId id, const QRectF& place) {
  const Lane& lane = timeline_->lane(id);
  const TimeScale time = scale();
  const auto& colours = colours_[timeline_->row(timeline_->row_of(id)).part];
  const QFontMetrics metrics(look_.font);
  const double text_top = place.top() + (place.height() - metrics.height()) / 2;
  for (const std::size_t position : lane.at_least(range_, time.length_of(kLabelFrom))) {
    const double from = std::max(0.0, time.exact_x(lane.start(position)));
    const double to = std::min(place.right(), time.exact_x(lane.end(position)));
    if (to - from < kLabelFrom) continue;
    const SliceRef slice = timeline_->slice_at(id, position);
    const QStaticText* const text = labels_.text(*timeline_, slice, to - from - 2 * kPadding);
    if (text == nullptr) continue;
    painter.setPen(QColor::fromRgb(text_colour_on(colours[to_index(slice.slice)])));
    painter.drawStaticText(QPointF(from + kPadding, text_top), *text);
  }
}

/// Pixels only, line by line: a painter's upright lines that let through what is below them take ten times as long.
void TimelineView::paint_grid(const TimeAxis& axis) {
  const TimeScale time = scale();
  const Argb colour = look_.grid.rgb();
  const double opacity = look_.grid.alphaF();
  std::vector<int> columns;
  for (const AxisTick& tick : axis.ticks) {
    const auto x = static_cast<int>(std::lround(std::floor(time.exact_x(tick.time)) * image_key_.ratio));
    if (0 <= x && x < image_.width()) columns.push_back(x);
  }
  for (int y = 0; y < image_.height(); ++y) {
    auto* const line = reinterpret_cast<Argb*>(image_.scanLine(y));
    for (const int x : columns) line[x] = blend(colour, line[x], opacity);
  }
}

void TimelineView::paint_axis(QPainter& painter, const TimeAxis& axis) {
  const TimeScale time = scale();
  const int bottom = axis_height();
  painter.fillRect(0, 0, width(), bottom, look_.alternate);
  const QFontMetrics metrics(look_.font);
  const int baseline = (bottom + metrics.ascent() - metrics.descent()) / 2;
  int from = 0;
  if (!axis.base.empty()) {
    const QString base = qt(axis.base);
    from = metrics.horizontalAdvance(base) + 3 * kPadding;
    painter.setPen(look_.text);
    painter.drawText(kPadding, baseline, base);
  }
  for (const AxisTick& tick : axis.ticks) {
    const double x = std::floor(time.exact_x(tick.time)) + 0.5;
    if (x < from) continue;
    painter.setPen(look_.line);
    painter.drawLine(QPointF(x, bottom - 8), QPointF(x, bottom - 1));
    const QString label = qt(tick.label);
    if (x + kPadding + metrics.horizontalAdvance(label) > width()) continue;
    painter.setPen(look_.dim_text);
    painter.drawText(QPointF(x + kPadding, baseline), label);
  }
  painter.fillRect(0, bottom - 1, width(), 1, look_.line);
}

void TimelineView::paint_area(QPainter& painter) {
  if (!area_) return;
  const TimeScale time = scale();
  const double from = std::clamp(time.exact_x(area_->window.start), -1.0, width() + 1.0);
  const double to = std::clamp(time.exact_x(area_->window.end), -1.0, width() + 1.0);
  QColor edge = look_.area;
  edge.setAlpha(200);
  for (const PlacedBox& placed : visible_boxes()) {
    const bool inside = std::find(area_->rows.begin(), area_->rows.end(), placed.box->row) != area_->rows.end();
    if (placed.box->is_header || !inside) continue;
    const int least = placed.box->pinned ? axis_height() : rows_top();
    const QRectF box(QPointF(from, std::max(least, placed.y)), QPointF(to, placed.y + placed.box->height));
    painter.fillRect(box, look_.area);
  }
  painter.fillRect(QRectF(QPointF(from, 0), QPointF(to, axis_height() - 1)), look_.area);
  painter.setPen(edge);
  painter.drawLine(QPointF(from, 0), QPointF(from, height()));
  painter.drawLine(QPointF(to, 0), QPointF(to, height()));
  const QString length = qt(format_time(area_->window.length()));
  const QRectF room(QPointF(from, 0), QPointF(to, axis_height()));
  if (room.width() > painter.fontMetrics().horizontalAdvance(length) + 2 * kPadding) {
    const int wide = painter.fontMetrics().horizontalAdvance(length) + 2 * kPadding;
    const QRectF box(room.center().x() - wide / 2.0, 4, wide, axis_height() - 9);
    painter.fillRect(box, look_.background);
    painter.setPen(look_.text);
    painter.drawText(box, Qt::AlignCenter, length);
  }
}

void TimelineView::paint_flows(QPainter& painter) {
  if (!selected_) return;
  painter.save();
  painter.setClipRect(0, axis_height(), width(), height() - axis_height());
  painter.setRenderHint(QPainter::Antialiasing);
  const double far = 4.0 * width() + 1000;
  const auto draw = [&](const std::vector<FlowLink>& links, bool near) {
    QColor colour = look_.selection;
    colour.setAlpha(near ? 230 : 90);
    QPen pen(colour, near ? 1.5 : 1);
    for (std::size_t i = 0; i < std::min(links.size(), kMostArrows); ++i) {
      const auto start = rectangle(links[i].from);
      const auto end = rectangle(links[i].to);
      if (!start || !end) continue;
      const auto bounded = [&](double x) { return std::clamp(x, -far, far); };
      const QPointF from(bounded(start->right()), start->center().y());
      const QPointF to(bounded(end->left()), end->center().y());
      const double bend = std::clamp(std::abs(to.x() - from.x()) / 2, 16.0, 160.0);
      QPainterPath path(from);
      path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
      painter.setPen(pen);
      painter.setBrush(Qt::NoBrush);
      painter.drawPath(path);
      painter.setPen(Qt::NoPen);
      painter.setBrush(colour);
      painter.drawPolygon(QPolygonF({to, to + QPointF(-8, -4), to + QPointF(-8, 4)}));
    }
  };
  draw(flows_.before, false);
  draw(flows_.after, false);
  draw(flows_.incoming, true);
  draw(flows_.outgoing, true);
  painter.restore();
}

void TimelineView::paint_selection(QPainter& painter) {
  const auto outline = [&](SliceRef slice, const QColor& colour, int thick) {
    auto box = rectangle(slice);
    if (!box) return;
    const RowBox* row = layout_.find(timeline_->place(slice)->row);
    painter.save();
    const int top = row->pinned ? axis_height() : rows_top();
    painter.setClipRect(0, top, width(), height() - top);
    box->setLeft(std::clamp(std::floor(box->left()), -8.0, width() + 8.0));
    box->setRight(std::clamp(std::ceil(box->right()), box->left() + 3, width() + 11.0));
    painter.setPen(QPen(colour, thick, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box->adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
  };
  if (hovered_ && hovered_ != selected_) outline(*hovered_, look_.hover, 1);
  if (selected_) outline(*selected_, look_.selection, 2);
}

void TimelineView::paint_marks(QPainter& painter) {
  const TimeScale time = scale();
  const QFontMetrics metrics = painter.fontMetrics();
  for (const TimeMark& mark : marks_.all()) {
    if (mark.time < range_.start || mark.time >= range_.end) continue;
    const double x = std::floor(time.exact_x(mark.time));
    painter.fillRect(QRectF(x, 0, 1, height()), look_.mark);
    const QString name = metrics.elidedText(qt(mark.name), Qt::ElideRight, 120);
    const QRectF flag(x, 0, metrics.horizontalAdvance(name) + 2 * kPadding, metrics.height());
    painter.fillRect(flag, look_.mark);
    painter.setPen(QColor::fromRgb(text_colour_on(look_.mark.rgb())));
    painter.drawText(flag, Qt::AlignCenter, name);
  }
}

void TimelineView::paint_hover(QPainter& painter) {
  if (!hovered_) return;
  const QFontMetrics metrics = painter.fontMetrics();
  const int most = std::max(80, width() - 40);
  const QString text = metrics.elidedText(qt(hover_text(*timeline_, *hovered_)), Qt::ElideMiddle, most);
  const int wide = metrics.horizontalAdvance(text) + 4 * kPadding;
  const int high = metrics.height() + 2 * kPadding;
  constexpr int kBeside = 14;
  QRect box(static_cast<int>(pointer_.x()) + kBeside, static_cast<int>(pointer_.y()) + kBeside, wide, high);
  if (box.right() > width() - 2) box.moveRight(width() - 2);
  if (box.left() < 2) box.moveLeft(2);
  if (box.bottom() > height() - 2) box.moveBottom(static_cast<int>(pointer_.y()) - kBeside / 2);
  painter.fillRect(box, look_.label);
  painter.setPen(look_.line);
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(box.adjusted(0, 0, -1, -1));
  painter.setPen(look_.label_text);
  painter.drawText(box, Qt::AlignCenter, text);
}

void TimelineView::paint_emptiness(QPainter& painter) {
  painter.setPen(look_.dim_text);
  painter.drawText(rect(), Qt::AlignCenter, tr("This trace holds no slices"));
}

}  // namespace cohort
