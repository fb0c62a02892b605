#include "models/onnx/window_sums.hpp"

#include <algorithm>

namespace cohort::onnx {

namespace {

/// Of a window at one place, the rows or columns from `first` to before `end` that lie in x.
struct Range {
  std::int64_t first = 0, end = 0;
};

std::vector<Range> ranges_along(const Window& window, std::size_t axis, std::int64_t extent, std::int64_t places) {
  std::vector<Range> ranges;
  for (std::int64_t place = 0; place < places; ++place) {
    const std::int64_t at = place * window.stride[axis] - window.pad_begin[axis];
    const auto is_inside = [&](std::int64_t tap) {
      const std::int64_t reads = at + tap * window.dilation[axis];
      return reads >= 0 && reads < extent;
    };
    Range range;
    while (range.first < window.kernel[axis] && !is_inside(range.first)) ++range.first;
    for (range.end = range.first; range.end < window.kernel[axis] && is_inside(range.end);) ++range.end;
    ranges.push_back(range);
  }
  return ranges;
}

/// Sums of one output's weights over all channels, rows before i and columns before j: [(h + 1), (w + 1)].
class PrefixSums {
 public:
  PrefixSums(const float* weights, std::int64_t channels, std::int64_t rows, std::int64_t columns)
      : stride_(columns + 1), sums_(static_cast<std::size_t>((rows + 1) * (columns + 1))) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        double sum = at(i, j + 1) + at(i + 1, j) - at(i, j);
        for (std::int64_t c = 0; c < channels; ++c) sum += weights[(c * rows + i) * columns + j];
        sums_[static_cast<std::size_t>((i + 1) * stride_ + j + 1)] = sum;
      }
    }
  }

  [[nodiscard]] float within(const Range& rows, const Range& columns) const {
    return static_cast<float>(at(rows.end, columns.end) - at(rows.first, columns.end) - at(rows.end, columns.first) +
                              at(rows.first, columns.first));
  }

 private:
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return sums_[static_cast<std::size_t>(i * stride_ + j)];
  }

  std::int64_t stride_;
  std::vector<double> sums_;
};

}  // namespace

WindowSums window_sums(const std::vector<float>& weights, const Shape& weights_shape, const Window& window,
                       const Shape& x, const Shape& y) {
  std::vector<Range> rows = ranges_along(window, 0, x[2], y[2]), columns = ranges_along(window, 1, x[3], y[3]);
  const auto are_whole = [&](const std::vector<Range>& ranges, std::size_t axis) {
    return std::all_of(ranges.begin(), ranges.end(),
                       [&](const Range& range) { return range.first == 0 && range.end == window.kernel[axis]; });
  };
  if (are_whole(rows, 0) && are_whole(columns, 1)) {
    rows.resize(1);
    columns.resize(1);
  }
  const std::int64_t outputs = weights_shape[0], channels = weights_shape[1];
  WindowSums result{{1, outputs, std::ssize(rows), std::ssize(columns)}, {}};
  for (std::int64_t o = 0; o < outputs; ++o) {
    const float* const own = weights.data() + o * channels * weights_shape[2] * weights_shape[3];
    const PrefixSums sums(own, channels, weights_shape[2], weights_shape[3]);
    for (const Range& row : rows) {
      for (const Range& column : columns) result.values.push_back(sums.within(row, column));
    }
  }
  return result;
}

}  // namespace cohort::onnx
