#include "view/chart/palette.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

/// A channel of sRGB as light.
double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(Colour colour) {
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
}

Palette make_light() {
  Palette palette;
  palette.background = colour_from(0xffffff);
  palette.panel = colour_from(0xf6f8fa);
  palette.text = colour_from(0x1b1f24);
  palette.faint_text = colour_from(0x57606a);
  palette.grid = colour_from(0xe4e8ec);
  palette.axis = colour_from(0x8c959f);
  palette.limit = colour_from(0x9a3412);
  palette.highlight = colour_from(0xcf222e);
  palette.good = colour_from(0x1a7f37);
  palette.bad = colour_from(0xb42318);
  palette.series = {colour_from(0x0072b2), colour_from(0xd55e00), colour_from(0x009e73), colour_from(0x882255),
                    colour_from(0xa66fd6), colour_from(0x332288), colour_from(0x7a7f86), colour_from(0x6b4a00)};
  return palette;
}

Palette make_dark() {
  Palette palette;
  palette.dark = true;
  palette.background = colour_from(0x15171c);
  palette.panel = colour_from(0x1e2228);
  palette.text = colour_from(0xe6edf3);
  palette.faint_text = colour_from(0x9da7b3);
  palette.grid = colour_from(0x2d333b);
  palette.axis = colour_from(0x6e7781);
  palette.limit = colour_from(0xffb077);
  palette.highlight = colour_from(0xff7b72);
  palette.good = colour_from(0x7ee2a8);
  palette.bad = colour_from(0xff8a80);
  palette.series = {colour_from(0x56b4e9), colour_from(0xe69f00), colour_from(0x009e73), colour_from(0xcc79a7),
                    colour_from(0xf0e442), colour_from(0xd55e00), colour_from(0x7a6fe0), colour_from(0xbbbbbb)};
  return palette;
}

}  // namespace

std::string hex(Colour colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

double contrast(Colour a, Colour b) {
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

Colour blend(Colour top, Colour below, double opacity) {
  const auto mix = [opacity](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a * opacity + b * (1 - opacity)));
  };
  return {mix(top.red, below.red), mix(top.green, below.green), mix(top.blue, below.blue)};
}

const Palette& light_palette() {
  static const Palette palette = make_light();
  return palette;
}

const Palette& dark_palette() {
  static const Palette palette = make_dark();
  return palette;
}

Colour colour_of(const Palette& palette, const Ink& ink) {
  switch (ink.tone) {
    case Tone::kBackground:
      return palette.background;
    case Tone::kText:
      return palette.text;
    case Tone::kFaintText:
      return palette.faint_text;
    case Tone::kGrid:
      return palette.grid;
    case Tone::kAxis:
      return palette.axis;
    case Tone::kLimit:
      return palette.limit;
    case Tone::kHighlight:
      return palette.highlight;
    case Tone::kGood:
      return palette.good;
    case Tone::kBad:
      return palette.bad;
    case Tone::kSeries:
      return palette.series[ink.series % kSeriesColours];
  }
  return palette.text;
}

}  // namespace cohort
