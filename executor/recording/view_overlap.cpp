#include "executor/recording/view_overlap.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace cohort {
namespace {

/// A view as nested loops, the largest stride first. Loops that stay in place are left out.
struct Loops {
  std::int64_t begin = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> levels;  ///< stride, extent

  [[nodiscard]] std::int64_t stride() const { return levels.empty() ? 0 : levels.front().first; }
  [[nodiscard]] std::int64_t length() const {
    std::int64_t last = 0;
    for (const auto& [stride, extent] : levels) last += stride * (extent - 1);
    return last + 1;
  }
  /// Takes the loop of `stride` off, one of a single round where there is none: (first row, rows).
  std::pair<std::int64_t, std::int64_t> take_rows(std::int64_t stride) {
    std::int64_t rows = 1;
    if (this->stride() == stride) {
      rows = levels.front().second;
      levels.erase(levels.begin());
    }
    const std::int64_t first = begin / stride;
    begin %= stride;
    return {first, rows};
  }
};

Loops loops_of(const View& view) {
  Loops loops{view.offset, {}};
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] > 0) loops.levels.emplace_back(view.strides[i], view.shape[i]);
  }
  std::sort(loops.levels.begin(), loops.levels.end(), std::greater<>());
  return loops;
}

bool disjoint(std::int64_t a, std::int64_t a_length, std::int64_t b, std::int64_t b_length) {
  return a + a_length <= b || b + b_length <= a;
}

}  // namespace

bool may_overlap(const View& a, const View& b) {
  if (element_count(a.shape) == 0 || element_count(b.shape) == 0) return false;
  Loops left = loops_of(a);
  Loops right = loops_of(b);
  while (true) {
    if (disjoint(left.begin, left.length(), right.begin, right.length())) return false;
    const std::int64_t stride = std::max(left.stride(), right.stride());
    if (stride == 0) return true;
    const auto [left_row, left_rows] = left.take_rows(stride);
    const auto [right_row, right_rows] = right.take_rows(stride);
    // Rows can be compared only where neither view runs over into its next row.
    if (left.begin + left.length() > stride || right.begin + right.length() > stride) return true;
    if (disjoint(left_row, left_rows, right_row, right_rows)) return false;
  }
}

}  // namespace cohort
