#include "gui/chart/chart_widget.hpp"

#include <QAction>
#include <QBuffer>
#include <QClipboard>
#include <QEvent>
#include <QFileDialog>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/file.hpp"
#include "base/text.hpp"
#include "gui/chart/chart_painter.hpp"
#include "gui/window/theme.hpp"

namespace cohort {
namespace {

constexpr double kPngScale = 2;
constexpr double kPointerReach = 24;

/// The arrow keys as they lie: along the points, and across them to another series.
std::optional<ChartStep> step_of(int key, bool lying) {
  switch (key) {
    case Qt::Key_Left:
      return lying ? ChartStep::kSeriesBefore : ChartStep::kPrevious;
    case Qt::Key_Right:
      return lying ? ChartStep::kSeriesAfter : ChartStep::kNext;
    case Qt::Key_Up:
      return lying ? ChartStep::kPrevious : ChartStep::kSeriesBefore;
    case Qt::Key_Down:
      return lying ? ChartStep::kNext : ChartStep::kSeriesAfter;
    case Qt::Key_Home:
      return ChartStep::kFirst;
    case Qt::Key_End:
      return ChartStep::kLast;
    default:
      return std::nullopt;
  }
}

DrawnPosition position_of(const QMouseEvent& event) { return {event.position().x(), event.position().y()}; }

}  // namespace

ChartWidget::ChartWidget(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setContextMenuPolicy(Qt::ActionsContextMenu);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  add_actions();
}

void ChartWidget::add_actions() {
  for (const QString& kind : {QStringLiteral("SVG"), QStringLiteral("PNG"), QStringLiteral("CSV")}) {
    QAction* action = new QAction(tr("Save as %1…").arg(kind), this);
    connect(action, &QAction::triggered, this, [this, kind] { ask_and_save(kind); });
    addAction(action);
  }
  QAction* copy = new QAction(tr("Copy CSV"), this);
  connect(copy, &QAction::triggered, this, &ChartWidget::copy_csv);
  addAction(copy);
}

void ChartWidget::set_chart(Chart chart) {
  chart_ = std::move(chart);
  pressed_.reset();
  setAccessibleName(QString::fromStdString(chart_.title));
  lay_out();
  if (current_ && drawing_.region(*current_) == nullptr) go_to(std::nullopt);
}

void ChartWidget::show_point(std::optional<ChartPointId> point) {
  if (point && drawing_.region(*point) == nullptr) point.reset();
  current_ = point;
  update();
}

void ChartWidget::lay_out() {
  drawing_ = cohort::layout(chart_, {static_cast<double>(width()), static_cast<double>(height())});
  update();
}

const Palette& ChartWidget::colours() const {
  return system_theme(palette()) == ThemeKind::kDark ? dark_palette() : light_palette();
}

Result<void> ChartWidget::save_as(const std::filesystem::path& file) const {
  const std::string end = to_lower(file.extension().string());
  if (end == ".svg") return write_file(file, to_svg(drawing_, colours()), Overwrite::kAllow);
  if (end == ".csv") return write_file(file, to_csv(chart_), Overwrite::kAllow);
  if (end != ".png") {
    return fail(ErrorCode::kUsage, "{}: a chart is saved as .svg, .png or .csv", file.string());
  }
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  to_image(drawing_, colours(), font(), kPngScale).save(&buffer, "PNG");
  return write_file(file, {buffer.data().constData(), static_cast<std::size_t>(buffer.data().size())},
                    Overwrite::kAllow);
}

void ChartWidget::ask_and_save(const QString& kind) {
  const QString end = kind.toLower();
  QString name = QString::fromStdString(chart_.title.empty() ? "chart" : chart_.title).toLower();
  for (QChar& character : name) {
    if (!character.isLetterOrNumber()) character = QLatin1Char('-');
  }
  QFileDialog dialog(this, tr("Save as %1").arg(kind));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setNameFilter(tr("%1 (*.%2)").arg(kind, end));
  dialog.setDefaultSuffix(end);  // before the dialog asks whether to replace a file
  dialog.selectFile(name + "." + end);
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return;
  const auto saved = save_as(dialog.selectedFiles().front().toStdString());
  if (!saved) Q_EMIT failed(QString::fromStdString(saved.error().message));
}

void ChartWidget::copy_csv() const { QGuiApplication::clipboard()->setText(QString::fromStdString(to_csv(chart_))); }

void ChartWidget::go_to(std::optional<ChartPointId> point) {
  if (point == current_) return;
  current_ = point;
  setCursor(current_ ? Qt::PointingHandCursor : Qt::ArrowCursor);
  QString told;
  if (current_) {
    for (const std::string& line : describe(chart_, *current_)) told += QString::fromStdString(line) + "\n";
  }
  setAccessibleDescription(told.trimmed());
  update();
  if (current_) {
    Q_EMIT point_hovered(current_->series, current_->index);
  } else {
    Q_EMIT point_left();
  }
}

void ChartWidget::mouseMoveEvent(QMouseEvent* event) { go_to(drawing_.hit(position_of(*event), kPointerReach)); }

void ChartWidget::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) {
    QWidget::mousePressEvent(event);
    return;
  }
  go_to(drawing_.hit(position_of(*event), kPointerReach));
  pressed_ = current_;
}

void ChartWidget::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const auto pressed = std::exchange(pressed_, std::nullopt);
  if (pressed && pressed == drawing_.hit(position_of(*event), kPointerReach)) {
    Q_EMIT point_clicked(pressed->series, pressed->index);
  }
}

void ChartWidget::leaveEvent(QEvent*) { go_to(std::nullopt); }

void ChartWidget::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  // A context menu or dialog takes the focus for a while only.
  if (event->reason() != Qt::PopupFocusReason && !underMouse()) go_to(std::nullopt);
  update();
}

void ChartWidget::keyPressEvent(QKeyEvent* event) {
  if (const auto step = step_of(event->key(), drawing_.lying)) {
    if (const auto next = step_from(drawing_, current_, *step)) go_to(next);
    return;
  }
  const bool chooses = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter || event->key() == Qt::Key_Space;
  if (chooses && current_) {
    Q_EMIT point_clicked(current_->series, current_->index);
  } else if (event->key() == Qt::Key_Escape && current_) {
    go_to(std::nullopt);
  } else {
    QWidget::keyPressEvent(event);  // it may concern whoever the chart is part of
  }
}

void ChartWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), qt_colour(colours().background));
  paint(painter, drawing_, colours(), font());
  if (hasFocus()) {
    painter.setPen(QPen(this->palette().color(QPalette::Highlight), 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
  paint_current(painter);
}

void ChartWidget::paint_current(QPainter& painter) const {
  const HitRegion* region = current_ ? drawing_.region(*current_) : nullptr;
  if (region == nullptr) return;
  const Palette& shown = colours();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(qt_colour(shown.text), 2));
  painter.setBrush(Qt::NoBrush);
  if (region->box) {
    painter.drawRect(QRectF(region->box->x, region->box->y, region->box->width, region->box->height));
  } else {
    painter.drawEllipse(QPointF(region->centre.x, region->centre.y), 6, 6);
  }
  paint_told(painter, *region);
}

/// A box beside the point with what there is to say of it.
void ChartWidget::paint_told(QPainter& painter, const HitRegion& region) const {
  const Palette& shown = colours();
  QFont small = font();
  small.setPixelSize(12);
  const QFontMetricsF metrics(small);
  QStringList lines;
  double widest = 0;
  for (const std::string& line : describe(chart_, *current_)) {
    lines += metrics.elidedText(QString::fromStdString(line), Qt::ElideMiddle, std::max(width() - 24, 40));
    widest = std::max(widest, metrics.horizontalAdvance(lines.back()));
  }
  QRectF box(0, 0, widest + 16, metrics.lineSpacing() * static_cast<double>(lines.size()) + 10);
  const QPointF point(region.centre.x, region.centre.y);
  const bool right = point.x() + 14 + box.width() <= width();
  box.moveLeft(right ? point.x() + 14 : std::max(point.x() - 14 - box.width(), 2.0));
  box.moveTop(std::clamp(point.y() - box.height() / 2, 2.0, std::max(height() - box.height() - 2, 2.0)));
  painter.setPen(QPen(qt_colour(shown.axis), 1));
  painter.setBrush(qt_colour(shown.panel));
  painter.drawRoundedRect(box, 4, 4);
  painter.setFont(small);
  painter.setPen(qt_colour(shown.text));
  double y = box.top() + 5 + metrics.ascent();
  for (const QString& line : lines) {
    painter.drawText(QPointF(box.left() + 8, y), line);
    y += metrics.lineSpacing();
  }
}

void ChartWidget::resizeEvent(QResizeEvent*) { lay_out(); }

void ChartWidget::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace cohort
