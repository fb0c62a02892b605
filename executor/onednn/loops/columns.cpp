#include "executor/onednn/loops/columns.hpp"

#include <algorithm>

#include "models/op_training.hpp"

namespace cohort::onednn {
namespace {

/// So many rows are summed at once, which keeps partial sums small beside the whole.
constexpr std::int64_t kChunk = 128;
/// Columns whose sums stay in vector registers.
constexpr std::int64_t kStrip = 64;

}  // namespace

COHORT_VECTORS void add_columns(const float* x, std::int64_t rows, std::int64_t distance, std::int64_t columns,
                                float* sums) {
  for (std::int64_t first = 0; first < columns; first += kStrip) {
    const std::int64_t width = std::min(kStrip, columns - first);
    for (std::int64_t at = 0; at < rows; at += kChunk) {
      float chunk[kStrip] = {};
      const std::int64_t end = std::min(rows, at + kChunk);
      for (std::int64_t row = at; row < end; ++row) {
        const float* const from = x + row * distance + first;
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) chunk[c] += from[c];
      }
      for (std::int64_t c = 0; c < width; ++c) sums[first + c] += chunk[c];
    }
  }
}

COHORT_VECTORS void add_to(const float* x, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void clear_behind(float* pack, std::int64_t end) { std::fill(pack + end, pack + pack_place(end), 0.0F); }

}  // namespace cohort::onednn
