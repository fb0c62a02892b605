#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

namespace cohort {

enum class ThemeKind { kLight, kDark };

/// The colours of the window. What is drawn in charts and timelines has its own, chosen by `kind`.
struct Theme {
  ThemeKind kind = ThemeKind::kLight;
  QColor window;       ///< behind everything
  QColor surface;      ///< of fields, tables and drawings
  QColor raised;       ///< of bars, headers and buttons
  QColor text;         ///< on all three of them
  QColor dim_text;     ///< the same, for what matters less
  QColor border;       ///< lines between parts
  QColor accent;       ///< what is chosen, and links
  QColor accent_text;  ///< on accent
  QColor good;         ///< on window and surface, as the next two
  QColor warning;
  QColor bad;

  [[nodiscard]] bool dark() const { return kind == ThemeKind::kDark; }
};

Theme theme_of(ThemeKind kind);

/// What the desktop asks for, as far as the palette that Qt made of it tells.
ThemeKind system_theme(const QPalette& palette);

QPalette palette_of(const Theme& theme);

/// Rules for the window's own widgets: stations, banners, cards. Pages need none.
QString style_sheet_of(const Theme& theme);

}  // namespace cohort
