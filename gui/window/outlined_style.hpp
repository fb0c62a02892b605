#pragma once

#include <QProxyStyle>

namespace cohort {

/// The Fusion style, whose outlines are darker than the window and so vanish in a dark one: there fields and boxes get
/// one that is lighter.
class OutlinedStyle : public QProxyStyle {
  Q_OBJECT

 public:
  OutlinedStyle();

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget = nullptr) const override;
  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                          const QWidget* widget = nullptr) const override;
};

}  // namespace cohort
