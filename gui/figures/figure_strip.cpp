#include "gui/figures/figure_strip.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

namespace cohort {
namespace {

constexpr int kSpacing = 20;

}  // namespace

FigureStrip::FigureStrip(QWidget* parent) : QFrame(parent), row_(new QHBoxLayout(this)) {
  row_->setContentsMargins(0, 4, 0, 4);
  row_->setSpacing(kSpacing);
  row_->addStretch(1);
  // What does not fit is hidden instead of widening the window.
  row_->setSizeConstraint(QLayout::SetNoConstraint);
}

void FigureStrip::add_tile() {
  Tile tile{new QWidget, new QLabel, new QLabel, new QLabel};
  auto* column = new QVBoxLayout(tile.box);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  QFont large = font();
  if (large.pixelSize() > 0) {
    large.setPixelSize(large.pixelSize() * 3 / 2);
  } else {
    large.setPointSizeF(large.pointSizeF() * 1.5);
  }
  large.setBold(true);
  tile.value->setFont(large);
  for (QLabel* label : {tile.title, tile.value, tile.detail}) {
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(label);
  }
  tile.title->setForegroundRole(QPalette::PlaceholderText);
  tile.detail->setForegroundRole(QPalette::PlaceholderText);
  row_->insertWidget(row_->count() - 1, tile.box);
  tiles_.push_back(tile);
}

void FigureStrip::set_figures(const std::vector<Figure>& figures) {
  figures_ = figures;
  while (tiles_.size() < figures.size()) add_tile();
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    if (i >= figures.size()) continue;
    tiles_[i].title->setText(figures[i].title);
    tiles_[i].value->setText(figures[i].value);
    tiles_[i].detail->setText(figures[i].detail);
    tiles_[i].box->setToolTip(figures[i].tip);
  }
  show_what_fits();
  updateGeometry();
}

void FigureStrip::show_what_fits() {
  int right = 0;
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    const bool wanted = i < figures_.size();
    if (wanted) right += tiles_[i].box->sizeHint().width() + (i > 0 ? kSpacing : 0);
    tiles_[i].box->setVisible(wanted && (i == 0 || right <= width()));
  }
}

void FigureStrip::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  show_what_fits();
}

QSize FigureStrip::minimumSizeHint() const {
  const QMargins margins = row_->contentsMargins();
  int height = 0;
  for (const Tile& tile : tiles_) height = std::max(height, tile.box->sizeHint().height());
  return {tiles_.empty() ? 0 : tiles_.front().box->sizeHint().width(), height + margins.top() + margins.bottom()};
}

QString FigureStrip::text() const {
  QStringList lines;
  for (const Figure& figure : figures_) {
    lines << QStringLiteral("%1: %2; %3").arg(figure.title, figure.value, figure.detail);
  }
  return lines.join('\n');
}

}  // namespace cohort
