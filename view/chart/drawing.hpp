#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "view/chart/chart.hpp"
#include "view/chart/palette.hpp"

namespace cohort {

/// Pixels, from the top left corner.
struct DrawnPosition {
  double x = 0;
  double y = 0;

  friend bool operator==(const DrawnPosition&, const DrawnPosition&) = default;
};

struct DrawnSize {
  double width = 0;
  double height = 0;

  friend bool operator==(const DrawnSize&, const DrawnSize&) = default;
};

struct DrawnBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  [[nodiscard]] double right() const { return x + width; }
  [[nodiscard]] double bottom() const { return y + height; }
  [[nodiscard]] bool contains(DrawnPosition position) const {
    return position.x >= x && position.x <= right() && position.y >= y && position.y <= bottom();
  }
  /// Shared edges do not count.
  [[nodiscard]] bool overlaps(const DrawnBox& other) const {
    return x < other.right() && other.x < right() && y < other.bottom() && other.y < bottom();
  }
  friend bool operator==(const DrawnBox&, const DrawnBox&) = default;
};

struct DrawnLine {
  DrawnPosition from = {};
  DrawnPosition to = {};
  Ink ink = {};
  double width = 1;
  bool dashed = false;
};

struct DrawnPath {
  std::vector<DrawnPosition> positions = {};
  Ink ink = {};
  double width = 2;
  bool filled = false;  ///< closed, and filled rather than drawn as a line
};

struct DrawnRectangle {
  DrawnBox box = {};
  Ink ink = {};
  std::string title = {};  ///< the tool tip of an SVG; also what a screen reader says
};

struct DrawnCircle {
  DrawnPosition centre = {};
  double radius = 3;
  Ink ink = {};
  bool filled = true;
  std::string title = {};
};

enum class TextAnchor : std::uint8_t { kStart, kMiddle, kEnd };

struct DrawnText {
  DrawnPosition position = {};  ///< of the anchor, on the base line
  std::string text = {};
  TextAnchor anchor = TextAnchor::kStart;
  double size = 12;  ///< pixels
  Ink ink = {};
  bool bold = false;
  bool upwards = false;    ///< turned by a quarter: read from below
  std::string title = {};  ///< the whole text, where `text` is elided
};

using DrawnMark = std::variant<DrawnLine, DrawnPath, DrawnRectangle, DrawnCircle, DrawnText>;

/// Where a point of the chart is found by a pointer.
struct HitRegion {
  ChartPointId point;
  DrawnPosition centre;
  std::optional<DrawnBox> box = std::nullopt;  ///< of a bar
};

/// A chart in place: marks in the order in which they are painted, in roles rather than colours.
struct Drawing {
  DrawnSize size = {};
  std::vector<DrawnMark> marks = {};
  std::vector<HitRegion> regions = {};
  DrawnBox plot = {};  ///< where the data is
  std::string title = {};
  bool lying = false;  ///< points follow each other from above to below, not from left to right

  /// The bar under the position, else the nearest point within `reach` pixels, of several in one place that of the
  /// first series. O(points).
  [[nodiscard]] std::optional<ChartPointId> hit(DrawnPosition position, double reach = 24) const;
  [[nodiscard]] const HitRegion* region(ChartPointId point) const;
};

/// Ways from point to point by keys: along a series, or to another one.
enum class ChartStep : std::uint8_t { kNext, kPrevious, kFirst, kLast, kSeriesBefore, kSeriesAfter };
/// Where a step leads: along the series in the order in which points stand; to the point of the other series that is
/// nearest in that direction. Without a point to go from, or one that is not drawn, the first of all. Absent where
/// there is nothing further. O(points log points).
std::optional<ChartPointId> step_from(const Drawing& drawing, std::optional<ChartPointId> from, ChartStep step);

/// Lays out a chart. Never fails: labels without room are omitted, and the drawing of an empty chart says what would
/// fill it.
Drawing layout(const Chart& chart, DrawnSize size);

/// Approximate width of a text in pixels, slightly more than in most sans-serif fonts.
double text_width(std::string_view text, double size, bool bold = false);
/// The text, or as much of it as fits with "…" in its middle.
std::string elide(std::string_view text, double width, double size);
/// The lines a text of words takes within a width.
std::vector<std::string> wrap(std::string_view text, double width, double size);

/// The family of fonts of every SVG.
inline constexpr std::string_view kFontFamily = "'DejaVu Sans', 'Segoe UI', 'Helvetica Neue', Arial, sans-serif";

/// A whole SVG file in the palette's colours.
std::string to_svg(const Drawing& drawing, const Palette& palette);
/// An <svg> element for an HTML page, whose colours are the custom properties of palette_css(), so that they follow the
/// page's theme.
std::string to_inline_svg(const Drawing& drawing);
/// "--text: #1b1f24; --series-0: …;": what to_inline_svg() refers to.
std::string palette_css(const Palette& palette);

/// Text as it stands in XML and HTML, in elements and in quoted attributes: markup escaped, control characters that XML
/// does not allow and broken UTF-8 replaced.
std::string escape_xml(std::string_view text);

}  // namespace cohort
