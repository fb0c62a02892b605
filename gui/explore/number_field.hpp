#pragma once

#include <QWidget>

class QDoubleSpinBox;
class QSlider;

namespace cohort {

/// A number by slider or by typing. The slider of a wide range goes by factors, so that small values can be met.
class NumberField : public QWidget {
  Q_OBJECT

 public:
  struct Range {
    double least = 1;
    double most = 100;
    int decimals = 0;
    QString suffix = {};
  };
  explicit NumberField(const Range& range, QWidget* parent = nullptr);

  void set_range(const Range& range);
  [[nodiscard]] double value() const;
  /// Without a signal.
  void set_value(double value);
  [[nodiscard]] QSlider& slider() { return *slider_; }
  [[nodiscard]] QDoubleSpinBox& box() { return *box_; }

 Q_SIGNALS:
  void value_changed(double value);

 private:
  [[nodiscard]] bool by_factors() const;
  [[nodiscard]] int position_of(double value) const;
  [[nodiscard]] double value_at(int position) const;

  Range range_;
  QSlider* slider_;
  QDoubleSpinBox* box_;
};

}  // namespace cohort
