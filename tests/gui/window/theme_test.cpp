#include "gui/window/theme.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cohort {
namespace {

/// WCAG 2.1's contrast ratio.
double luminance(const QColor& colour) {
  const auto linear = [](double part) {
    return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& one, const QColor& other) {
  const double lighter = std::max(luminance(one), luminance(other));
  return (lighter + 0.05) / (std::min(luminance(one), luminance(other)) + 0.05);
}

TEST(Theme, HasReadableTextOnEveryBackground) {
  for (const ThemeKind kind : {ThemeKind::kLight, ThemeKind::kDark}) {
    const Theme theme = theme_of(kind);
    for (const QColor& behind : {theme.window, theme.surface, theme.raised}) {
      EXPECT_GE(contrast(theme.text, behind), 7) << behind.name().toStdString();
      EXPECT_GE(contrast(theme.dim_text, behind), 4.5) << behind.name().toStdString();
    }
    for (const QColor& sign : {theme.good, theme.warning, theme.bad, theme.accent}) {
      EXPECT_GE(contrast(sign, theme.surface), 4.5) << sign.name().toStdString();
      EXPECT_GE(contrast(sign, theme.window), 4.5) << sign.name().toStdString();
    }
    EXPECT_GE(contrast(theme.accent_text, theme.accent), 4.5);
  }
}

TEST(Theme, OfThePaletteMadeOfItIsItself) {
  EXPECT_EQ(system_theme(palette_of(theme_of(ThemeKind::kLight))), ThemeKind::kLight);
  EXPECT_EQ(system_theme(palette_of(theme_of(ThemeKind::kDark))), ThemeKind::kDark);
}

}  // namespace
}  // namespace cohort
