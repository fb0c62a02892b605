#include "view/compare/error_colours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cohort {
namespace {

constexpr std::array<Colour, 7> kScale{colour_from(0x4575b4), colour_from(0x91bfdb), colour_from(0xe0f3f8),
                                       colour_from(0xffffbf), colour_from(0xfee090), colour_from(0xfc8d59),
                                       colour_from(0xd73027)};

std::uint8_t between(std::uint8_t a, std::uint8_t b, double part) {
  return static_cast<std::uint8_t>(std::lround(a + part * (b - a)));
}

}  // namespace

Colour ErrorColours::of_error(double relative_error) const {
  const double position = (std::clamp(relative_error / full_, -1.0, 1.0) + 1) / 2 * (kScale.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(position), kScale.size() - 2);
  const double part = position - static_cast<double>(below);
  const Colour a = kScale[below];
  const Colour b = kScale[below + 1];
  return {between(a.red, b.red, part), between(a.green, b.green, part), between(a.blue, b.blue, part)};
}

Colour ErrorColours::without_partner() const { return dark_ ? colour_from(0x7d838c) : colour_from(0x8a9099); }
Colour ErrorColours::not_compared() const { return dark_ ? colour_from(0x454a52) : colour_from(0xc6cad0); }

std::vector<ErrorLegendEntry> error_legend(const ErrorColours& colours) {
  std::vector<ErrorLegendEntry> entries;
  constexpr int kSteps = 4;
  for (int i = -kSteps; i <= kSteps; ++i) {
    const double error = colours.full() * i / kSteps;
    std::string text = i == 0 ? "0%" : fmt::format("{:+.3g}%", error * 100);
    if (i == -kSteps) text.insert(0, "≤ ");
    if (i == kSteps) text.insert(0, "≥ ");
    entries.push_back({colours.of_error(error), std::move(text)});
  }
  entries.push_back({colours.without_partner(), "no partner"});
  entries.push_back({colours.not_compared(), "not compared"});
  return entries;
}

SliceColours slice_colours(const TraceComparison& comparison, const Overlay& overlay, const ErrorColours& colours) {
  SliceColours tables;
  for (const CompareSide side : {CompareSide::kPredicted, CompareSide::kMeasured}) {
    const std::size_t i = to_index(side);
    std::vector<Argb> table(comparison.trace(side).slices.size(), argb(colours.not_compared()));
    for (const KeyedSlice& slice : comparison.keyed().sides[i].slices) {
      const auto pair = overlay.pair_of[i][to_index(slice.slice)];
      const auto error = pair ? relative_error(comparison, overlay.pairs[*pair]) : std::nullopt;
      table[to_index(slice.slice)] = argb(error ? colours.of_error(*error) : colours.without_partner());
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string format_error(std::optional<double> relative_error) {
  if (!relative_error) return "-";
  return std::abs(*relative_error) < 10 ? fmt::format("{:+.1f}%", *relative_error * 100)
                                        : fmt::format("{:+.0f}%", *relative_error * 100);
}

std::string format_difference(Nanoseconds difference) {
  if (difference == Nanoseconds(0)) return "0 ns";
  const bool negative = difference < Nanoseconds(0);
  return (negative ? "-" : "+") + format_time(negative ? -difference : difference);
}

std::vector<std::string> describe_error(const TraceComparison& comparison, const Overlay& overlay, CompareSide side,
                                        SliceId slice) {
  const std::size_t i = to_index(side);
  const PerSide<std::string> labels = side_labels(comparison);
  const auto position = overlay.pair_of[i][to_index(slice)];
  if (!position) {
    const bool compared = comparison.keyed().sides[i].compared[to_index(slice)];
    return {compared ? fmt::format("no {} slice is its partner", labels[1 - i]) : "not compared"};
  }
  const SlicePair& pair = overlay.pairs[*position];
  const ComparedTime time = times_of(comparison, pair);
  std::vector<std::string> lines{
      fmt::format("{} {}, {} {}", labels[0], format_time(time.predicted), labels[1], format_time(time.measured)),
      fmt::format("difference {} ({})", format_difference(time.predicted - time.measured),
                  format_error(time.relative_error()))};
  const Nanoseconds shift = start_shift(comparison, overlay, pair);
  if (shift == Nanoseconds(0)) {
    lines.emplace_back("both start together");
  } else {
    lines.push_back(fmt::format("{} to start {} {}", labels[0], format_time(shift < Nanoseconds(0) ? -shift : shift),
                                shift < Nanoseconds(0) ? "earlier" : "later"));
  }
  return lines;
}

}  // namespace cohort
