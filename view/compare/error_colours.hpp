#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/chart/palette.hpp"
#include "view/compare/trace_comparison.hpp"
#include "view/timeline/colours.hpp"

namespace cohort {

/// Colours of relative errors, from blue (predicted too short) over pale yellow (right) to red (too long): told apart
/// with any of the common colour blindnesses, by hue and towards both ends by lightness.
/// Source of the colours: Brewer, colorbrewer2.org, "RdYlBu", which is marked safe for the colour-blind.
class ErrorColours {
 public:
  /// Errors of `full` (0.5: 50%) and more have the outermost colours.
  explicit ErrorColours(bool dark, double full = 0.5) : dark_(dark), full_(full) {}

  [[nodiscard]] double full() const { return full_; }
  [[nodiscard]] Colour of_error(double relative_error) const;
  /// A slice that could have a partner and has none.
  [[nodiscard]] Colour without_partner() const;
  /// A slice that is not compared at all.
  [[nodiscard]] Colour not_compared() const;

 private:
  bool dark_;
  double full_;
};

/// As timelines keep it.
constexpr Argb argb(Colour colour) {
  return 0xff000000U | static_cast<Argb>(colour.red) << 16 | static_cast<Argb>(colour.green) << 8 | colour.blue;
}

/// One patch of the legend.
struct ErrorLegendEntry {
  Colour colour;
  std::string text;
};
/// From most negative to most positive error, then the greys.
std::vector<ErrorLegendEntry> error_legend(const ErrorColours& colours);

/// Both sides' slices by part of comparison_timeline().
SliceColours slice_colours(const TraceComparison& comparison, const Overlay& overlay, const ErrorColours& colours);

/// "+12.3%", "-0.4%", "-" where there is none; from 1000% on without decimals.
std::string format_error(std::optional<double> relative_error);
/// A signed time: "+1.24 ms", "-830 ns", "0 ns".
std::string format_difference(Nanoseconds difference);
/// What a slice's tool tip and details say about its error, in lines: its partner, both times, difference, error and
/// start shift; or why there is none.
std::vector<std::string> describe_error(const TraceComparison& comparison, const Overlay& overlay, CompareSide side,
                                        SliceId slice);

}  // namespace cohort
