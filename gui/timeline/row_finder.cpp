#include "gui/timeline/row_finder.hpp"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "view/timeline/search.hpp"

namespace cohort {

RowFinder::RowFinder(QWidget* parent) : QFrame(parent) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  auto* layout = new QVBoxLayout(this);
  field_ = new QLineEdit;
  field_->setPlaceholderText(tr("Name of a row"));
  field_->setAccessibleName(tr("Name of a row"));
  field_->installEventFilter(this);
  list_ = new QListWidget;
  list_->setFrameShape(QFrame::NoFrame);
  list_->setFocusPolicy(Qt::NoFocus);
  layout->addWidget(field_);
  layout->addWidget(list_);
  connect(field_, &QLineEdit::textChanged, this, &RowFinder::list);
  connect(field_, &QLineEdit::returnPressed, this, &RowFinder::choose);
  connect(list_, &QListWidget::itemClicked, this, &RowFinder::choose);
  hide();
}

void RowFinder::ask(std::shared_ptr<const Timeline> timeline) {
  if (!timeline) return;
  timeline_ = std::move(timeline);
  const int wide = std::min(480, parentWidget()->width() - 40);
  const int high = std::min(320, parentWidget()->height() - 40);
  setGeometry((parentWidget()->width() - wide) / 2, 30, wide, high);
  field_->clear();
  list();
  show();
  raise();
  field_->setFocus();
}

void RowFinder::forget() {
  hide();
  timeline_.reset();
  rows_.clear();
  list_->clear();
}

void RowFinder::list() {
  if (!timeline_) return;
  rows_ = find_rows(*timeline_, field_->text().toStdString());
  list_->clear();
  for (const RowId row : rows_) list_->addItem(QString::fromStdString(timeline_->full_title(row)));
  if (!rows_.empty()) list_->setCurrentRow(0);
}

void RowFinder::choose() {
  const int row = list_->currentRow();
  const auto found = row >= 0 ? std::optional(rows_[static_cast<std::size_t>(row)]) : std::nullopt;
  close_again();
  if (found) Q_EMIT chosen(*found);
}

void RowFinder::close_again() {
  forget();
  Q_EMIT closed();
}

bool RowFinder::eventFilter(QObject* watched, QEvent* event) {
  if (watched == field_ && event->type() == QEvent::FocusOut) forget();
  if (watched == field_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<const QKeyEvent*>(event)->key();
    if (key == Qt::Key_Escape) {
      close_again();
      return true;
    }
    if (key == Qt::Key_Down || key == Qt::Key_Up) {
      const int step = key == Qt::Key_Down ? 1 : -1;
      list_->setCurrentRow(std::clamp(list_->currentRow() + step, 0, std::max(0, list_->count() - 1)));
      return true;
    }
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace cohort
