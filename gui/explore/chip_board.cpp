#include "gui/explore/chip_board.hpp"

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <utility>

namespace cohort {
namespace {

constexpr int kPad = 6;
constexpr int kChipGap = 4;

}  // namespace

ChipBoard::ChipBoard(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
}

void ChipBoard::set_content(QStringList lanes, std::vector<BoardChip> chips) {
  lanes_ = std::move(lanes);
  chips_ = std::move(chips);
  dragged_.reset();
  moving_ = false;
  if (chosen_ && *chosen_ >= static_cast<int>(chips_.size())) chosen_.reset();
  update_places();
  updateGeometry();
}

ChipBoard::Places ChipBoard::lay_out(int width) const {
  const QFontMetrics metrics(font());
  const int line = metrics.height() + 4;
  Places places;
  places.chips.resize(chips_.size());
  int y = 0;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    const int top = y;
    int x = kPad;
    y += line + kChipGap;  // the lane's title
    bool any = false;
    for (std::size_t i = 0; i < chips_.size(); ++i) {
      if (chips_[i].lane != lane) continue;
      const int wide = std::min(metrics.horizontalAdvance(chips_[i].label) + 2 * kPad, std::max(20, width - 2 * kPad));
      if (any && x + wide > width - kPad) {
        x = kPad;
        y += line + kChipGap;
      }
      places.chips[i] = QRect(x, y, wide, line);
      x += wide + kChipGap;
      any = true;
    }
    y += any ? line + kPad : kPad;
    places.lanes.emplace_back(0, top, width, y - top);
    y += kChipGap;
  }
  places.height = std::max(0, y - kChipGap);
  return places;
}

void ChipBoard::update_places() {
  places_ = lay_out(width());
  update();
}

QSize ChipBoard::sizeHint() const { return {260, lay_out(std::max(120, width())).height}; }
int ChipBoard::heightForWidth(int width) const { return lay_out(width).height; }
QRect ChipBoard::chip_rectangle(int chip) const { return places_.chips[static_cast<std::size_t>(chip)]; }
QRect ChipBoard::lane_rectangle(int lane) const { return places_.lanes[static_cast<std::size_t>(lane)]; }

std::optional<int> ChipBoard::chip_at(QPoint point) const {
  for (std::size_t i = 0; i < places_.chips.size(); ++i) {
    if (places_.chips[i].contains(point)) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::optional<int> ChipBoard::lane_at(QPoint point) const {
  for (std::size_t i = 0; i < places_.lanes.size(); ++i) {
    if (places_.lanes[i].contains(point)) return static_cast<int>(i);
  }
  return std::nullopt;
}

bool ChipBoard::may_move(int chip, int lane) const {
  const BoardChip& moved = chips_[static_cast<std::size_t>(chip)];
  if (lane < 0 || lane >= lanes_.size() || lane == moved.lane) return false;
  return moved.allowed.empty() || std::find(moved.allowed.begin(), moved.allowed.end(), lane) != moved.allowed.end();
}

void ChipBoard::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetrics metrics(font());
  const auto target = moving_ ? lane_at(pointer_) : std::nullopt;
  for (int lane = 0; lane < lanes_.size(); ++lane) {
    const QRect box = lane_rectangle(lane);
    const bool open = target == lane && may_move(*dragged_, lane);
    const bool closed =
        moving_ && !may_move(*dragged_, lane) && chips_[static_cast<std::size_t>(*dragged_)].lane != lane;
    painter.setPen(open ? QPen(palette().color(QPalette::Highlight), 2) : QPen(palette().color(QPalette::Mid), 1));
    painter.setBrush(palette().color(closed ? QPalette::Window : QPalette::Base));
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setPen(palette().color(closed ? QPalette::Disabled : QPalette::Active, QPalette::PlaceholderText));
    const QRect title(kPad, box.top() + 2, box.width() - 2 * kPad, metrics.height() + 4);
    painter.drawText(title, Qt::AlignVCenter, metrics.elidedText(lanes_[lane], Qt::ElideRight, title.width()));
  }
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    const bool is_dragged = moving_ && dragged_ == static_cast<int>(i);
    const bool is_chosen = chosen_ == static_cast<int>(i);
    QRect box = places_.chips[i];
    if (is_dragged) box.translate(pointer_ - pressed_);
    painter.setPen(QPen(palette().color(is_chosen ? QPalette::Highlight : QPalette::Mid), is_chosen ? 2 : 1));
    painter.setBrush(palette().color(is_dragged ? QPalette::Highlight : QPalette::Button));
    painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    painter.setPen(palette().color(is_dragged ? QPalette::HighlightedText : QPalette::ButtonText));
    painter.drawText(box, Qt::AlignCenter, metrics.elidedText(chips_[i].label, Qt::ElideMiddle, box.width() - kPad));
  }
}

void ChipBoard::resizeEvent(QResizeEvent* /*event*/) { update_places(); }

void ChipBoard::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  dragged_ = chip_at(event->pos());
  chosen_ = dragged_;
  pressed_ = pointer_ = event->pos();
  update();
}

void ChipBoard::mouseMoveEvent(QMouseEvent* event) {
  pointer_ = event->pos();
  if (!dragged_) {
    setCursor(chip_at(pointer_) ? Qt::OpenHandCursor : Qt::ArrowCursor);
    return;
  }
  if ((pointer_ - pressed_).manhattanLength() >= QApplication::startDragDistance()) moving_ = true;
  if (moving_) setCursor(Qt::ClosedHandCursor);
  update();
}

void ChipBoard::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !dragged_) return;
  const int chip = *dragged_;
  const bool moved = std::exchange(moving_, false);
  dragged_.reset();
  unsetCursor();
  update();
  const auto lane = lane_at(event->pos());
  if (moved && lane && may_move(chip, *lane)) Q_EMIT chip_moved(chip, *lane);
}

void ChipBoard::move_by_key(int lanes) {
  if (!chosen_) return;
  // The next lane in that direction that takes it.
  for (int lane = chips_[static_cast<std::size_t>(*chosen_)].lane + lanes; lane >= 0 && lane < lanes_.size();
       lane += lanes) {
    if (!may_move(*chosen_, lane)) continue;
    Q_EMIT chip_moved(*chosen_, lane);
    return;
  }
}

void ChipBoard::keyPressEvent(QKeyEvent* event) {
  const int count = static_cast<int>(chips_.size());
  switch (event->key()) {
    case Qt::Key_Escape:
      moving_ = false;
      dragged_.reset();
      update();
      return;
    case Qt::Key_Left:
    case Qt::Key_Right: {
      if (count == 0) return;
      const int step = event->key() == Qt::Key_Right ? 1 : count - 1;
      chosen_ = chosen_ ? (*chosen_ + step) % count : 0;
      update();
      return;
    }
    case Qt::Key_Up:
      return move_by_key(-1);
    case Qt::Key_Down:
      return move_by_key(1);
    default:
      QWidget::keyPressEvent(event);
  }
}

bool ChipBoard::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto chip = chip_at(help->pos())) {
      QToolTip::showText(help->globalPos(), chips_[static_cast<std::size_t>(*chip)].tip, this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QWidget::event(event);
}

}  // namespace cohort
