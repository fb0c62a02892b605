#include "gui/window/outlined_style.hpp"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

#include "gui/window/theme.hpp"

namespace cohort {
namespace {

void draw_outline(const QStyleOption& option, QPainter& painter) {
  if (system_theme(option.palette) != ThemeKind::kDark) return;
  const bool is_focused = (option.state & QStyle::State_HasFocus) != 0;
  QColor colour = option.palette.color(is_focused ? QPalette::Highlight : QPalette::PlaceholderText);
  if (!is_focused) colour.setAlphaF(0.5F);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(colour);
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
  painter.restore();
}

}  // namespace

OutlinedStyle::OutlinedStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void OutlinedStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                                  const QWidget* widget) const {
  QProxyStyle::drawPrimitive(element, option, painter, widget);
  if (element == PE_IndicatorCheckBox) draw_outline(*option, *painter);
}

void OutlinedStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                                       const QWidget* widget) const {
  QProxyStyle::drawComplexControl(control, option, painter, widget);
  if (control == CC_SpinBox) draw_outline(*option, *painter);
}

}  // namespace cohort
