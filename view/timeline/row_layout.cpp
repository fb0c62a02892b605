#include "view/timeline/row_layout.hpp"

#include <algorithm>

namespace cohort {
namespace {

RowBox row_box(const TimelineRow& row, RowId id, bool folded, const RowMetrics& metrics) {
  RowBox box;
  box.row = id;
  box.folded = folded;
  box.lane_height = folded ? metrics.folded_lane : metrics.lane;
  // A folded row is still high enough for its title.
  box.height = std::max(static_cast<int>(row.lanes) * box.lane_height, metrics.lane) + metrics.row_gap;
  return box;
}

}  // namespace

RowLayout::RowLayout(const Timeline& timeline, const std::set<RowId>& pinned, const std::set<RowId>& folded,
                     const RowMetrics& metrics) {
  std::optional<RowId> before;
  for (std::size_t r = 0; r < timeline.rows().size(); ++r) {
    const auto id = static_cast<RowId>(r);
    const TimelineRow& row = timeline.row(id);
    RowBox box = row_box(row, id, folded.count(id) > 0, metrics);
    if (pinned.count(id) > 0) {
      box.pinned = true;
      box.y = pinned_height_;
      pinned_height_ += box.height;
      pinned_.push_back(box);
      continue;
    }
    if (!row.group.empty() && (!before || timeline.row(*before).group != row.group)) {
      RowBox header;
      header.is_header = true;
      header.row = id;
      header.y = scrolled_height_;
      header.height = metrics.header;
      scrolled_height_ += header.height;
      scrolled_.push_back(header);
    }
    before = id;
    box.y = scrolled_height_;
    scrolled_height_ += box.height;
    scrolled_.push_back(box);
  }
}

const RowBox* RowLayout::at(const std::vector<RowBox>& boxes, int y) {
  const auto after =
      std::upper_bound(boxes.begin(), boxes.end(), y, [](int height, const RowBox& box) { return height < box.y; });
  if (after == boxes.begin()) return nullptr;
  const RowBox& box = *(after - 1);
  return y < box.y + box.height ? &box : nullptr;
}

const RowBox* RowLayout::find(RowId row) const {
  for (const auto* boxes : {&pinned_, &scrolled_}) {
    for (const RowBox& box : *boxes) {
      if (!box.is_header && box.row == row) return &box;
    }
  }
  return nullptr;
}

std::optional<std::size_t> RowLayout::lane_at(const Timeline& timeline, const RowBox& box, int y) {
  if (box.is_header || y < box.y) return std::nullopt;
  const auto lane = static_cast<std::size_t>((y - box.y) / box.lane_height);
  if (lane >= timeline.row(box.row).lanes) return std::nullopt;
  return lane;
}

std::vector<RowId> RowLayout::order() const {
  std::vector<RowId> rows;
  for (const auto* boxes : {&pinned_, &scrolled_}) {
    for (const RowBox& box : *boxes) {
      if (!box.is_header) rows.push_back(box.row);
    }
  }
  return rows;
}

std::set<RowId> rows_folded_at_first(const Timeline& timeline) {
  std::set<RowId> folded;
  for (std::size_t r = 0; r < timeline.rows().size(); ++r) {
    if (timeline.rows()[r].lanes > kMostLanesUnfolded) folded.insert(static_cast<RowId>(r));
  }
  return folded;
}

}  // namespace cohort
