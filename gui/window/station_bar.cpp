#include "gui/window/station_bar.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace cohort {
namespace {

constexpr bool is_station(PageId id) { return id != PageId::kTimeline && id != PageId::kScaling; }

}  // namespace

StationBar::StationBar(QWidget* parent) : QWidget(parent), row_(new QHBoxLayout), hint_(new QLabel(this)) {
  setObjectName(QStringLiteral("stations"));
  setAttribute(Qt::WA_StyledBackground);
  hint_->setObjectName(QStringLiteral("hint"));
  hint_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);  // it must not widen the window
  hint_->setTextFormat(Qt::PlainText);
  row_->setSpacing(2);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(10, 6, 10, 6);
  column->setSpacing(3);
  column->addLayout(row_);
  column->addWidget(hint_);
}

void StationBar::add(PageId id, const QString& title) {
  auto* button = new QToolButton(this);
  button->setText(title);
  button->setCheckable(true);
  button->setAutoRaise(true);
  button->setProperty("station", is_station(id));
  button->setAccessibleName(title);
  connect(button, &QToolButton::clicked, this, [this, id] {
    set_current(*current_);  // the window decides
    Q_EMIT chosen(id);
  });
  places_[id].button = button;
  if (!current_) current_ = id;
  lay_out();
}

void StationBar::lay_out() {
  while (QLayoutItem* item = row_->takeAt(0)) {
    if (QWidget* widget = item->widget(); widget != nullptr && qobject_cast<QToolButton*>(widget) == nullptr)
      widget->deleteLater();
    delete item;
  }
  bool is_first = true;
  bool is_stretched = false;
  for (const auto& [id, place] : places_) {  // stations come first among the ids
    if (!is_station(id) && !is_stretched) {
      row_->addStretch(1);
      is_stretched = true;
    } else if (is_station(id) && !is_first) {
      auto* arrow = new QLabel(QStringLiteral("›"), this);
      arrow->setObjectName(QStringLiteral("arrow"));
      row_->addWidget(arrow);
    }
    row_->addWidget(place.button);
    is_first = false;
  }
  if (!is_stretched) row_->addStretch(1);
}

void StationBar::set_state(PageId id, const PageState& state) {
  const auto place = places_.find(id);
  if (place == places_.end()) return;
  place->second.state = state;
  place->second.button->setEnabled(state.enabled);
  place->second.button->setToolTip(state.next);
  if (current_ == id) show_hint();
}

void StationBar::set_current(PageId id) {
  if (!places_.contains(id)) return;
  current_ = id;
  for (const auto& [other, place] : places_) place.button->setChecked(other == id);
  show_hint();
}

void StationBar::show_hint() {
  hint_->setText(places_.at(*current_).state.next);
  hint_->setToolTip(hint_->text());
}

QToolButton* StationBar::button(PageId id) const {
  const auto place = places_.find(id);
  return place != places_.end() ? place->second.button : nullptr;
}

QString StationBar::hint() const { return hint_->text(); }

}  // namespace cohort
