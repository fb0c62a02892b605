#include "gui/explore/number_field.hpp"

#include <QDoubleSpinBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

constexpr int kPositions = 240;
constexpr double kWide = 64;  ///< ranges of this factor and more are gone through by factors

}  // namespace

NumberField::NumberField(const Range& range, QWidget* parent)
    : QWidget(parent), slider_(new QSlider(Qt::Horizontal)), box_(new QDoubleSpinBox) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(slider_, 1);
  row->addWidget(box_);
  box_->setKeyboardTracking(false);
  slider_->setMinimumWidth(60);
  setFocusProxy(box_);
  set_range(range);
  connect(slider_, &QSlider::valueChanged, this, [this](int position) {
    const double value = value_at(position);
    if (value == box_->value()) return;
    const QSignalBlocker blocker(box_);
    box_->setValue(value);
    Q_EMIT value_changed(box_->value());
  });
  connect(box_, &QDoubleSpinBox::valueChanged, this, [this](double value) {
    const QSignalBlocker blocker(slider_);
    slider_->setValue(position_of(value));
    Q_EMIT value_changed(value);
  });
}

bool NumberField::by_factors() const { return range_.least > 0 && range_.most / range_.least >= kWide; }

void NumberField::set_range(const Range& range) {
  range_ = range;
  range_.most = std::max(range.least, range.most);
  const QSignalBlocker box_blocker(box_);
  const QSignalBlocker slider_blocker(slider_);
  box_->setDecimals(range_.decimals);
  box_->setRange(range_.least, range_.most);
  box_->setSingleStep(range_.decimals == 0 ? 1 : std::pow(10.0, 1 - range_.decimals));
  box_->setSuffix(range_.suffix);
  if (by_factors()) {
    slider_->setRange(0, kPositions);
  } else if (range_.decimals == 0) {
    slider_->setRange(static_cast<int>(range_.least), static_cast<int>(range_.most));
  } else {
    slider_->setRange(0, kPositions);
  }
  slider_->setPageStep(std::max(1, (slider_->maximum() - slider_->minimum()) / 8));
  slider_->setValue(position_of(box_->value()));
  slider_->setEnabled(range_.most > range_.least);
}

int NumberField::position_of(double value) const {
  if (by_factors()) {
    return static_cast<int>(
        std::lround(kPositions * std::log(value / range_.least) / std::log(range_.most / range_.least)));
  }
  if (range_.decimals == 0) return static_cast<int>(std::lround(value));
  if (range_.most == range_.least) return 0;
  return static_cast<int>(std::lround(kPositions * (value - range_.least) / (range_.most - range_.least)));
}

double NumberField::value_at(int position) const {
  double value = position;
  if (by_factors()) {
    value = range_.least * std::pow(range_.most / range_.least, static_cast<double>(position) / kPositions);
  } else if (range_.decimals != 0) {
    value = range_.least + (range_.most - range_.least) * position / kPositions;
  }
  const double unit = std::pow(10.0, -range_.decimals);
  return std::clamp(std::round(value / unit) * unit, range_.least, range_.most);
}

double NumberField::value() const { return box_->value(); }

void NumberField::set_value(double value) {
  const QSignalBlocker box_blocker(box_);
  const QSignalBlocker slider_blocker(slider_);
  box_->setValue(value);
  slider_->setValue(position_of(box_->value()));
}

}  // namespace cohort
