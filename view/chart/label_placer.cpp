#include "view/chart/label_placer.hpp"

#include <algorithm>
#include <array>

namespace cohort {
namespace {

/// Liang-Barsky: whether a part of the line lies in the box.
bool crosses(const DrawnBox& box, DrawnPosition from, DrawnPosition to) {
  double first = 0;
  double last = 1;
  const double dx = to.x - from.x;
  const double dy = to.y - from.y;
  const std::array<std::array<double, 2>, 4> sides = {
      {{-dx, from.x - box.x}, {dx, box.right() - from.x}, {-dy, from.y - box.y}, {dy, box.bottom() - from.y}}};
  for (const auto& [slope, room] : sides) {
    if (slope == 0) {
      if (room < 0) return false;
      continue;
    }
    const double t = room / slope;
    if (slope < 0) {
      first = std::max(first, t);
    } else {
      last = std::min(last, t);
    }
  }
  return first <= last;
}

}  // namespace

DrawnBox box_of(const DrawnText& text) {
  const double width = text_width(text.text, text.size, text.bold);
  const double left = text.anchor == TextAnchor::kStart ? 0 : text.anchor == TextAnchor::kMiddle ? width / 2 : width;
  return {text.position.x - left, text.position.y - 0.8 * text.size, width, text.size};
}

bool LabelPlacer::is_free(const DrawnBox& box) const {
  if (box.x < area_.x || box.y < area_.y || box.right() > area_.right() || box.bottom() > area_.bottom()) return false;
  if (std::any_of(blocked_.begin(), blocked_.end(), [&](const DrawnBox& other) { return box.overlaps(other); }))
    return false;
  return std::none_of(lines_.begin(), lines_.end(),
                      [&](const Segment& line) { return crosses(box, line.from, line.to); });
}

std::optional<DrawnText> LabelPlacer::place(DrawnPosition point, double distance, const std::string& text,
                                            double size) {
  constexpr std::array<double, 3> kWidths = {1, 0.6, 0.35};
  const double whole = text_width(text, size);
  for (const double part : kWidths) {
    std::string shown = part == 1 ? text : elide(text, part * whole, size);
    if (shown.empty()) continue;
    if (auto placed = try_places(point, distance, shown, size)) {
      if (shown != text) placed->title = text;
      return placed;
    }
  }
  return std::nullopt;
}

std::optional<DrawnText> LabelPlacer::try_places(DrawnPosition point, double distance, const std::string& text,
                                                 double size) {
  struct Place {
    double x, y;
    TextAnchor anchor;
  };
  const double middle = 0.3 * size;  // from the middle of small letters down to the base line
  const std::array<Place, 8> places = {{
      {distance, middle, TextAnchor::kStart},
      {-distance, middle, TextAnchor::kEnd},
      {0, -distance - 0.2 * size, TextAnchor::kMiddle},
      {0, distance + 0.8 * size, TextAnchor::kMiddle},
      {distance, -distance, TextAnchor::kStart},
      {-distance, -distance, TextAnchor::kEnd},
      {distance, distance + 0.6 * size, TextAnchor::kStart},
      {-distance, distance + 0.6 * size, TextAnchor::kEnd},
  }};
  for (const double further : {1.0, 2.5}) {
    for (const Place& place : places) {
      const DrawnPosition at = {
          point.x + further * place.x,
          point.y + (further > 1 && place.x != 0 && place.y == middle ? place.y : further * place.y)};
      DrawnText label{.position = at, .text = text, .anchor = place.anchor, .size = size};
      const DrawnBox box = box_of(label);
      if (!is_free(box)) continue;
      block(box);
      return label;
    }
  }
  return std::nullopt;
}

}  // namespace cohort
