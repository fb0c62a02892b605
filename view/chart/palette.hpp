#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cohort {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;

  friend bool operator==(Colour, Colour) = default;
};

/// "#1a2b3c".
std::string hex(Colour colour);
/// From 0xRRGGBB.
constexpr Colour colour_from(std::uint32_t rgb) {
  return {static_cast<std::uint8_t>(rgb >> 16), static_cast<std::uint8_t>(rgb >> 8), static_cast<std::uint8_t>(rgb)};
}

/// WCAG 2's contrast ratio of two colours, from 1 (equal) to 21 (black on white); text wants 4.5.
double contrast(Colour a, Colour b);
/// `top` laid over `below`; opacity from 0 to 1.
Colour blend(Colour top, Colour below, double opacity);

/// What a mark of a drawing is, which is what its colour follows from: one drawing serves light and dark.
enum class Tone : std::uint8_t {
  kBackground,
  kText,
  kFaintText,  ///< secondary text: still at a contrast of 4.5
  kGrid,
  kAxis,
  kLimit,      ///< limits and other reference lines, with their labels
  kHighlight,  ///< the chosen or pointed-at thing
  kGood,
  kBad,
  kSeries,  ///< Ink::series says which
};
inline constexpr std::size_t kTones = 10;

/// Colours of series; further series start again from the first.
inline constexpr std::size_t kSeriesColours = 8;

struct Ink {
  Tone tone = Tone::kText;
  std::size_t series = 0;  ///< of kSeries
  double opacity = 1;

  friend bool operator==(const Ink&, const Ink&) = default;
};

/// A theme's colours, without a window: charts, the HTML report and the viewer's widgets share them. Series are told
/// apart by people with any of the common colour blindnesses, and by their lightness.
struct Palette {
  bool dark = false;
  Colour background;
  Colour panel;  ///< of boxes on the background
  Colour text;
  Colour faint_text;
  Colour grid;
  Colour axis;
  Colour limit;
  Colour highlight;
  Colour good;
  Colour bad;
  std::array<Colour, kSeriesColours> series;
};

const Palette& light_palette();
const Palette& dark_palette();

/// Without its opacity.
Colour colour_of(const Palette& palette, const Ink& ink);

}  // namespace cohort
