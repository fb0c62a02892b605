#pragma once

#include <optional>
#include <string>
#include <vector>

#include "view/chart/drawing.hpp"

namespace cohort {

/// Finds places for labels beside points where they cover neither data nor each other.
class LabelPlacer {
 public:
  explicit LabelPlacer(DrawnBox area) : area_(area) {}

  void block(DrawnBox box) { blocked_.push_back(box); }
  void block(DrawnPosition from, DrawnPosition to) { lines_.push_back({from, to}); }

  /// A label beside `point`: to its right, left, above, below, or in a corner, the first that is free; at first as
  /// written, then shortened. Absent where nothing is. What was placed is blocked for the next.
  std::optional<DrawnText> place(DrawnPosition point, double distance, const std::string& text, double size);
  /// Whether a box lies in the area and covers nothing.
  [[nodiscard]] bool is_free(const DrawnBox& box) const;

 private:
  struct Segment {
    DrawnPosition from, to;
  };
  std::optional<DrawnText> try_places(DrawnPosition point, double distance, const std::string& text, double size);

  DrawnBox area_;
  std::vector<DrawnBox> blocked_;
  std::vector<Segment> lines_;
};

/// The box that a text takes; `upwards` ones do not count.
DrawnBox box_of(const DrawnText& text);

}  // namespace cohort
