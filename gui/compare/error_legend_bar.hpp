#pragma once

#include <QWidget>
#include <vector>

#include "view/compare/error_colours.hpp"

namespace cohort {

/// What the colours of errors mean: a scale with its ends, and the greys beside it.
class ErrorLegendBar : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorLegendBar(QWidget* parent = nullptr);

  void set_dark(bool dark);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  ErrorColours colours_{false};
};

}  // namespace cohort
