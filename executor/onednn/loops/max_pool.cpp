// Maximum pooling where the channels of a position lie side by side. The library's kernels lose a NaN, so that what
// they read is read once more to look for one, and of long windows it has plain loops only.

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::onednn {
namespace {

COHORT_INLINE float larger(float value, float most) { return value > most || value != value ? value : most; }

/// A row of output positions, along the last dimension, and the rows of the input that their windows reach.
struct PoolRow {
  const std::vector<const float*>* inputs;
  std::int64_t width, step;  ///< of an input row: positions, and elements from one to the next
  std::int64_t kernel, stride, dilation, pad;
  float* y;
  std::int64_t y_width, y_step;
  std::int64_t channels;
};

/// Positions of a window along its last dimension that lie in the input.
struct Taps {
  std::int64_t first, count;
};

COHORT_INLINE Taps taps_at(const PoolRow& row, std::int64_t at) {
  const std::int64_t begin = at * row.stride - row.pad;
  const std::int64_t skipped = begin < 0 ? (-begin + row.dilation - 1) / row.dilation : 0;
  const std::int64_t end = std::min(row.kernel, (row.width - begin + row.dilation - 1) / row.dilation);
  return {begin + skipped * row.dilation, std::max<std::int64_t>(end - skipped, 0)};
}

/// The maxima over the input rows of `count` channels, at most kLanes, from `c` on: `columns` [width, kLanes].
COHORT_INLINE void pool_columns(const PoolRow& row, std::int64_t c, std::int64_t count, float* columns) {
  for (std::int64_t at = 0; at < row.width; ++at, columns += kLanes) {
    float most[kLanes];
    for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = -std::numeric_limits<float>::infinity();
    for (const float* const input : *row.inputs) {
      const float* const x = input + at * row.step + c;
#pragma omp simd
      for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = larger(x[lane], most[lane]);
    }
    for (std::int64_t lane = 0; lane < count; ++lane) columns[lane] = most[lane];
  }
}

/// The outputs of `count` channels from `c` on, of pool_columns().
COHORT_INLINE void pool_along(const PoolRow& row, std::int64_t c, std::int64_t count, const float* columns) {
  for (std::int64_t at = 0; at < row.y_width; ++at) {
    const Taps taps = taps_at(row, at);
    float most[kLanes];
    for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = -std::numeric_limits<float>::infinity();
    const float* x = columns + taps.first * kLanes;
    for (std::int64_t k = 0; k < taps.count; ++k, x += row.dilation * kLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = larger(x[lane], most[lane]);
    }
    float* const y = row.y + at * row.y_step + c;
    for (std::int64_t lane = 0; lane < count; ++lane) y[lane] = most[lane];
  }
}

/// Down the columns first, then along the row: a window of KxK that moves by one takes 2K comparisons and not K^2.
/// `columns`: [width, kLanes].
COHORT_VECTORS void pool_row_by_columns(const PoolRow& row, float* columns) {
  std::int64_t c = 0;
  for (; c + kLanes <= row.channels; c += kLanes) {
    pool_columns(row, c, kLanes, columns);
    pool_along(row, c, kLanes, columns);
  }
  if (c < row.channels) {
    pool_columns(row, c, row.channels - c, columns);
    pool_along(row, c, row.channels - c, columns);
  }
}

/// The maxima of `count` channels, at most kLanes, from `c` on.
COHORT_INLINE void pool_channels(const PoolRow& row, const Taps& taps, std::int64_t c, std::int64_t count, float* y) {
  float most[kLanes];
  for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = -std::numeric_limits<float>::infinity();
  for (const float* const input : *row.inputs) {
    const float* x = input + taps.first * row.step + c;
    for (std::int64_t k = 0; k < taps.count; ++k, x += row.dilation * row.step) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < count; ++lane) most[lane] = larger(x[lane], most[lane]);
    }
  }
  for (std::int64_t lane = 0; lane < count; ++lane) y[c + lane] = most[lane];
}

COHORT_VECTORS void pool_row(const PoolRow& row) {
  for (std::int64_t at = 0; at < row.y_width; ++at) {
    const Taps taps = taps_at(row, at);
    float* const y = row.y + at * row.y_step;
    std::int64_t c = 0;
    for (; c + kLanes <= row.channels; c += kLanes) pool_channels(row, taps, c, kLanes, y);
    if (c < row.channels) pool_channels(row, taps, c, row.channels - c, y);
  }
}

}  // namespace

OwnWays own_ways(const Pool& op, const OpCall& call, int threads) {
  const auto* const view = std::get_if<View>(&call.inputs[0]);
  const View& out = call.outputs[0];
  if (op.kind != PoolKind::kMax || view == nullptr || !call.post_ops.empty()) return {};
  if (out.shape[1] < 2 || view->strides[1] != 1 || out.strides[1] != 1) return {};
  const reference::Window3 window = reference::window3(op.window);
  const auto x = reference::with_three_spatial(reference::ConstTensor{nullptr, view->shape, view->strides});
  const auto y = reference::with_three_spatial(reference::ConstTensor{nullptr, out.shape, out.strides});
  const std::int64_t rows = y.shape[0] * y.shape[2] * y.shape[3];
  const std::int64_t rows_reached = window.kernel[0] * window.kernel[1];
  const std::int64_t at_once = y.shape[4] * rows_reached * window.kernel[2];
  const std::int64_t by_columns = x.shape[4] * rows_reached + y.shape[4] * window.kernel[2];
  const std::int64_t work = y.shape[1] * std::min(at_once, by_columns);
  OwnWay way;
  way.leads = out.shape[1] >= kLanes;
  way.loop = [=](const HostArguments& arguments) {
    in_parallel(threads, rows, work, [&](std::int64_t begin, std::int64_t end) {
      std::vector<const float*> inputs;
      std::vector<float> columns(by_columns < at_once ? static_cast<std::size_t>(x.shape[4] * kLanes) : 0);
      PoolRow row{&inputs,          x.shape[4],         x.strides[4],        window.kernel[2],
                  window.stride[2], window.dilation[2], window.pad_begin[2], nullptr,
                  y.shape[4],       y.strides[4],       y.shape[1]};
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t sample = i / (y.shape[2] * y.shape[3]);
        const std::array<std::int64_t, 2> at = {i / y.shape[3] % y.shape[2], i % y.shape[3]};
        inputs.clear();
        for (std::int64_t a = 0; a < window.kernel[0]; ++a) {
          const std::int64_t depth = at[0] * window.stride[0] + a * window.dilation[0] - window.pad_begin[0];
          for (std::int64_t b = 0; b < window.kernel[1]; ++b) {
            const std::int64_t height = at[1] * window.stride[1] + b * window.dilation[1] - window.pad_begin[1];
            if (depth < 0 || depth >= x.shape[2] || height < 0 || height >= x.shape[3]) continue;
            inputs.push_back(arguments.inputs[0] + sample * x.strides[0] + depth * x.strides[2] +
                             height * x.strides[3]);
          }
        }
        row.y = arguments.outputs[0] + sample * y.strides[0] + at[0] * y.strides[2] + at[1] * y.strides[3];
        columns.empty() ? pool_row(row) : pool_row_by_columns(row, columns.data());
      }
    });
  };
  return {std::move(way)};
}

}  // namespace cohort::onednn
