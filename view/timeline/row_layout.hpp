#pragma once

#include <optional>
#include <set>
#include <vector>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// Heights, in pixels of the screen at scale 1.
struct RowMetrics {
  int lane = 19;         ///< with the line below it
  int folded_lane = 4;   ///< of rows that are folded
  int row_gap = 5;       ///< below each row
  int header = 25;       ///< the name of a group above its first row
  int below_header = 3;  ///< of that, left free below the name
  friend bool operator==(const RowMetrics&, const RowMetrics&) = default;
};

/// A row or a group's name at its place.
struct RowBox {
  bool is_header = false;
  RowId row{};  ///< of a header: the group's first row
  int y = 0;    ///< within the pinned part, or within what scrolls
  int height = 0;
  int lane_height = 0;
  bool pinned = false;
  bool folded = false;
};

/// Where a timeline's rows stand one below the other: pinned ones first, which do not scroll. Rows of one group follow
/// its name.
class RowLayout {
 public:
  RowLayout() = default;
  RowLayout(const Timeline& timeline, const std::set<RowId>& pinned, const std::set<RowId>& folded,
            const RowMetrics& metrics = {});

  [[nodiscard]] const std::vector<RowBox>& pinned() const { return pinned_; }
  [[nodiscard]] const std::vector<RowBox>& scrolled() const { return scrolled_; }
  [[nodiscard]] int pinned_height() const { return pinned_height_; }
  [[nodiscard]] int scrolled_height() const { return scrolled_height_; }
  /// The box at a height of one of the two parts. O(log n).
  [[nodiscard]] static const RowBox* at(const std::vector<RowBox>& boxes, int y);
  /// The row's own box, not its header's.
  [[nodiscard]] const RowBox* find(RowId row) const;
  /// Lane of a box at a height inside it.
  [[nodiscard]] static std::optional<std::size_t> lane_at(const Timeline& timeline, const RowBox& box, int y);
  /// Rows in the order in which they stand, pinned ones first.
  [[nodiscard]] std::vector<RowId> order() const;

 private:
  std::vector<RowBox> pinned_;
  std::vector<RowBox> scrolled_;
  int pinned_height_ = 0;
  int scrolled_height_ = 0;
};

/// Rows with more lanes than this are folded at first.
inline constexpr std::size_t kMostLanesUnfolded = 12;
std::set<RowId> rows_folded_at_first(const Timeline& timeline);

}  // namespace cohort
