#include "gui/timeline/timeline_look.hpp"

#include <QApplication>

namespace cohort {

TimelineLook look_of(const Theme& theme, const QString& family) {
  const auto translucent = [](QColor colour, int alpha) {
    colour.setAlpha(alpha);
    return colour;
  };
  TimelineLook look;
  look.background = theme.surface;
  look.alternate = theme.raised;
  look.text = theme.text;
  look.dim_text = theme.dim_text;
  look.line = theme.border;
  look.grid = translucent(theme.text, theme.dark() ? 26 : 22);
  look.selection = theme.dark() ? QColor(0xff, 0xff, 0xff) : QColor(0x10, 0x18, 0x28);
  look.hover = theme.accent;
  look.area = translucent(theme.accent, theme.dark() ? 64 : 46);
  look.mark = theme.dark() ? QColor(0xff, 0x6f, 0xb5) : QColor(0xc0, 0x18, 0x6a);
  look.busy = theme.dark() ? QColor(0x5f, 0xb8, 0xa8) : QColor(0x2f, 0x8f, 0x83);
  look.units = theme.dark() ? QColor(0x8b, 0xa8, 0xf0) : QColor(0x45, 0x68, 0xc4);
  look.counter = theme.dark() ? QColor(0xd9, 0xa7, 0x60) : QColor(0xa5, 0x79, 0x2a);
  look.label = theme.raised;
  look.label_text = theme.text;
  look.font = QApplication::font();
  if (!family.isEmpty()) look.font.setFamily(family);
  constexpr int kPixels = 11;
  look.font.setPixelSize(kPixels);
  return look;
}

}  // namespace cohort
