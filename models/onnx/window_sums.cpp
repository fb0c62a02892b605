#include "models/onnx/window_sums.hpp"

#include <algorithm>

namespace cohort::onnx {

namespace {

/// Of a window at one place, the rows or columns from `first` to before `end` that lie in x.
struct Taps {
  std::int64_t first = 0, end = 0;
};

/// The rows or columns of a window, whose first is at `at`, that lie in x.
Taps taps_inside(const Window& window, std::size_t axis, std::int64_t at, std::int64_t extent) {
  const std::int64_t kernel = window.kernel[axis], dilation = window.dilation[axis];
  const auto taps_before = [&](std::int64_t distance) {
    return (std::max<std::int64_t>(distance, 0) + dilation - 1) / dilation;
  };
  const std::int64_t first = std::min(taps_before(-at), kernel);
  return {first, std::clamp(taps_before(extent - at), first, kernel)};
}

std::vector<Taps> taps_along(const Window& window, std::size_t axis, std::int64_t extent, std::int64_t places) {
  const auto taps_at = [&](std::int64_t place) {
    return taps_inside(window, axis, place * window.stride[axis] - window.pad_begin[axis], extent);
  };
  std::vector<Taps> taps;
  for (std::int64_t place = 0; place < places; ++place) taps.push_back(taps_at(place));
  return taps;
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

  [[nodiscard]] float within(const Taps& rows, const Taps& columns) const {
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

/// Whether some place's window reaches over an edge of x.
bool meets_pads(const Window& window, const Shape& x, const Shape& y) {
  for (std::size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const std::int64_t last = (y[axis + 2] - 1) * window.stride[axis] - window.pad_begin[axis];
    if (window.pad_begin[axis] > 0) return true;
    if (last + window.dilation[axis] * (window.kernel[axis] - 1) >= x[axis + 2]) return true;
  }
  return false;
}

}  // namespace

WindowSums window_sums(const std::vector<float>& weights, const Shape& weights_shape, const Window& window,
                       const Shape& x, const Shape& y) {
  if (x.size() == 3) {  // a signal is an image of one row
    const auto with_row = [](Shape shape) { return shape.insert(shape.begin() + 2, 1), shape; };
    const Window plane{{1, window.kernel[0]},
                       {1, window.stride[0]},
                       {0, window.pad_begin[0]},
                       {0, window.pad_end[0]},
                       {1, window.dilation[0]}};
    WindowSums sums = window_sums(weights, with_row(weights_shape), plane, with_row(x), with_row(y));
    sums.shape.erase(sums.shape.begin() + 2);
    return sums;
  }
  const bool is_same = !meets_pads(window, x, y);
  const std::vector<Taps> rows = taps_along(window, 0, x[2], is_same ? 1 : y[2]);
  const std::vector<Taps> columns = taps_along(window, 1, x[3], is_same ? 1 : y[3]);
  const std::int64_t outputs = weights_shape[0], channels = weights_shape[1];
  WindowSums result{{1, outputs, std::ssize(rows), std::ssize(columns)}, {}};
  result.values.reserve(static_cast<std::size_t>(element_count(result.shape)));
  for (std::int64_t o = 0; o < outputs; ++o) {
    const float* const own = weights.data() + o * channels * weights_shape[2] * weights_shape[3];
    const PrefixSums sums(own, channels, weights_shape[2], weights_shape[3]);
    for (const Taps& row : rows) {
      for (const Taps& column : columns) result.values.push_back(sums.within(row, column));
    }
  }
  return result;
}

}  // namespace cohort::onnx
