#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "view/timeline/timeline.hpp"

namespace cohort {

/// Slices of one name in an area. Times are those inside the area's window.
struct NameTotal {
  std::string name;
  std::uint32_t part = 0;
  std::int64_t count = 0;
  Nanoseconds total{};
  Nanoseconds self{};  ///< without what is nested in them
  Nanoseconds longest{};
  SliceRef longest_slice;
  bool is_device = false;  ///< work on a device

  [[nodiscard]] Nanoseconds mean() const { return count > 0 ? total / count : Nanoseconds(0); }
};

struct RowTotal {
  RowId row{};
  std::int64_t count = 0;
  Nanoseconds busy{};     ///< time in which at least one runs
  double busy_share = 0;  ///< of the area's window, 0 to 1
};

/// What an area of a timeline holds.
struct AreaTotals {
  TimeWindow window;
  std::int64_t count = 0;
  Nanoseconds total{};           ///< sum of `self`: nested slices do not count twice
  std::vector<NameTotal> names;  ///< most self time first, then by name
  std::vector<RowTotal> rows;    ///< in the order given

  /// Device work alone, most time first.
  [[nodiscard]] std::vector<NameTotal> top_kernels(std::size_t most) const;
};

/// Time: O(m log m) in the slices of the area.
AreaTotals aggregate(const Timeline& timeline, TimeWindow window, std::span<const RowId> rows);

/// Rows of an area as tab-separated text for spreadsheets.
std::string to_tsv(const AreaTotals& totals);

}  // namespace cohort
