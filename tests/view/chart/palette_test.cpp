#include "view/chart/palette.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace cohort {
namespace {

using Light = std::array<double, 3>;  ///< red, green and blue, linear

Light light_of(Colour colour) {
  const auto linear = [](std::uint8_t channel) {
    const double value = channel / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return {linear(colour.red), linear(colour.green), linear(colour.blue)};
}

/// CIE L*a*b* under D65, where equal distances look about equally far apart.
Light lab_of(const Light& light) {
  const auto curve = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const auto [r, g, b] = light;
  const double x = curve((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
  const double y = curve(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const double z = curve((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

using Vision = std::array<Light, 3>;
/// Machado, Oliveira, Fernandes 2009: nobody's, protanopia, deuteranopia, tritanopia.
constexpr std::array<Vision, 4> kVisions = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

Light seen(Colour colour, const Vision& vision) {
  const Light light = light_of(colour);
  Light result{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) result[i] += vision[i][j] * light[j];
    result[i] = std::clamp(result[i], 0.0, 1.0);
  }
  return lab_of(result);
}

double least_distance(Colour a, Colour b) {
  double least = 1e9;
  for (const Vision& vision : kVisions) {
    const Light x = seen(a, vision);
    const Light y = seen(b, vision);
    least = std::min(least, std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]));
  }
  return least;
}

class Palettes : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] const Palette& palette() const { return GetParam() ? dark_palette() : light_palette(); }
};

TEST_P(Palettes, TextIsReadableOnBothBackgrounds) {
  const Palette& palette = this->palette();
  for (const Colour ground : {palette.background, palette.panel}) {
    for (const Tone tone : {Tone::kText, Tone::kFaintText, Tone::kLimit, Tone::kHighlight, Tone::kGood, Tone::kBad}) {
      EXPECT_GE(contrast(colour_of(palette, {tone}), ground), 4.5) << static_cast<int>(tone) << " on " << hex(ground);
    }
  }
}

TEST_P(Palettes, SeriesStandOutFromTheBackground) {
  for (const Colour series : palette().series) EXPECT_GE(contrast(series, palette().background), 3.0) << hex(series);
}

TEST_P(Palettes, SeriesDifferForTheColourBlind) {
  const auto& series = palette().series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_GE(least_distance(series[i], series[j]), 12.0) << hex(series[i]) << " and " << hex(series[j]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Themes, Palettes, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Dark" : "Light"; });

TEST(Contrast, IsThatOfTheGuideline) {
  EXPECT_DOUBLE_EQ(contrast(colour_from(0x000000), colour_from(0xffffff)), 21);
  EXPECT_DOUBLE_EQ(contrast(colour_from(0x336699), colour_from(0x336699)), 1);
  EXPECT_NEAR(contrast(colour_from(0x767676), colour_from(0xffffff)), 4.54, 0.01);
}

TEST(Colours, AreWrittenAndBlended) {
  EXPECT_EQ(hex(colour_from(0x0a0bfc)), "#0a0bfc");
  EXPECT_EQ(blend(colour_from(0xff0000), colour_from(0x0000ff), 0.25), colour_from(0x4000bf));
  EXPECT_EQ(colour_of(light_palette(), {Tone::kSeries, kSeriesColours + 2}), light_palette().series[2]);
}

}  // namespace
}  // namespace cohort
