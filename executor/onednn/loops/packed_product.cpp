#include "executor/onednn/loops/packed_product.hpp"

#include <algorithm>

#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// y += a b' for kRows rows and kStrips strips. Its sums stay in registers: six strips of them fit into those of AVX2
/// beside the operands.
template <std::size_t kRows, std::size_t kStrips>
COHORT_INLINE void add_tile(std::int64_t inner, const Matrix& a, const float* packed, float* y, std::int64_t distance) {
  constexpr auto kRowCount = static_cast<std::int64_t>(kRows), kStripCount = static_cast<std::int64_t>(kStrips);
  float sums[kRows][kStrips][kLanes];
  for (std::int64_t row = 0; row < kRowCount; ++row) {
    for (std::int64_t strip = 0; strip < kStripCount; ++strip) {
#pragma omp simd
      for (std::int64_t c = 0; c < kLanes; ++c) sums[row][strip][c] = y[row * distance + strip * kLanes + c];
    }
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    for (std::int64_t row = 0; row < kRowCount; ++row) {
      const float x = a.data[row * a.distance + k];
      for (std::int64_t strip = 0; strip < kStripCount; ++strip) {
        const float* const b = packed + (strip * inner + k) * kLanes;
#pragma omp simd
        for (std::int64_t c = 0; c < kLanes; ++c) sums[row][strip][c] += x * b[c];
      }
    }
  }
  for (std::int64_t row = 0; row < kRowCount; ++row) {
    for (std::int64_t strip = 0; strip < kStripCount; ++strip) {
#pragma omp simd
      for (std::int64_t c = 0; c < kLanes; ++c) y[row * distance + strip * kLanes + c] = sums[row][strip][c];
    }
  }
}

/// kRows rows, strips from `strip` on by kStrips, as far as there are so many of [strip, end), which are whole. Returns
/// the first that is left.
template <std::size_t kRows, std::size_t kStrips>
COHORT_INLINE std::int64_t add_tiles(std::int64_t inner, const Matrix& a, const float* packed, float* y,
                                     std::int64_t distance, std::int64_t strip, std::int64_t end) {
  constexpr auto kStep = static_cast<std::int64_t>(kStrips);
  for (; strip + kStep <= end; strip += kStep)
    add_tile<kRows, kStrips>(inner, a, packed + strip * inner * kLanes, y + strip * kLanes, distance);
  return strip;
}

template <std::size_t kRows>
COHORT_INLINE void add_rows(std::int64_t inner, const Matrix& a, const float* packed, float* y, std::int64_t distance,
                            std::int64_t begin, std::int64_t end) {
  std::int64_t strip = add_tiles<kRows, 6 / kRows>(inner, a, packed, y, distance, begin, end);
  if constexpr (kRows < 3) strip = add_tiles<kRows, 2>(inner, a, packed, y, distance, strip, end);
  add_tiles<kRows, 1>(inner, a, packed, y, distance, strip, end);
}

/// All rows, strips [begin, end), which are whole.
COHORT_VECTORS void add_strips(const Extents& e, const Matrix& a, const float* packed, float* y, std::int64_t distance,
                               std::int64_t begin, std::int64_t end) {
  std::int64_t row = 0;
  const auto rest = [&] { return Matrix{a.data + row * a.distance, a.distance}; };
  for (; row + 6 <= e.rows; row += 6) add_rows<6>(e.inner, rest(), packed, y + row * distance, distance, begin, end);
  for (; row + 3 <= e.rows; row += 3) add_rows<3>(e.inner, rest(), packed, y + row * distance, distance, begin, end);
  for (; row + 2 <= e.rows; row += 2) add_rows<2>(e.inner, rest(), packed, y + row * distance, distance, begin, end);
  for (; row < e.rows; ++row) add_rows<1>(e.inner, rest(), packed, y + row * distance, distance, begin, end);
}

/// A strip of which only `width` columns are y's.
void add_last_strip(const Extents& e, const Matrix& a, const float* strip, std::int64_t width, float* y,
                    std::int64_t distance) {
  for (std::int64_t row = 0; row < e.rows; ++row) {
    float sums[kLanes] = {};
    std::copy_n(y + row * distance, width, sums);
    add_strips({1, kLanes, e.inner}, {a.data + row * a.distance, a.distance}, strip, sums, kLanes, 0, 1);
    std::copy_n(sums, width, y + row * distance);
  }
}

}  // namespace

std::int64_t packed_size(std::int64_t columns, std::int64_t inner) {
  return (columns + kLanes - 1) / kLanes * kLanes * inner;
}

Bytes strip_padding(std::int64_t columns, std::int64_t inner) {
  return Bytes{(packed_size(columns, inner) - columns * inner) * std::int64_t{sizeof(float)}};
}

void pack_strips(const float* b, std::int64_t columns, std::int64_t inner, float* packed) {
  std::fill_n(packed, packed_size(columns, inner), 0.0F);
  for (std::int64_t column = 0; column < columns; ++column) {
    float* const to = packed + column / kLanes * kLanes * inner + column % kLanes;
    for (std::int64_t k = 0; k < inner; ++k) to[k * kLanes] = b[column * inner + k];
  }
}

std::vector<float> pack_strips(const std::vector<float>& values, std::int64_t columns, std::int64_t inner) {
  const std::int64_t matrices = static_cast<std::int64_t>(values.size()) / (columns * inner);
  const std::int64_t size = packed_size(columns, inner);
  std::vector<float> packed(static_cast<std::size_t>(matrices * size));
  for (std::int64_t i = 0; i < matrices; ++i)
    pack_strips(values.data() + i * columns * inner, columns, inner, packed.data() + i * size);
  return packed;
}

void multiply_packed(const Extents& e, const Matrix& a, const float* packed, float* y, std::int64_t distance,
                     int threads) {
  const std::int64_t whole = e.columns / kLanes, width = e.columns % kLanes;
  in_parallel(threads, whole + (width > 0 ? 1 : 0), e.rows * e.inner * kLanes,
              [&](std::int64_t begin, std::int64_t end) {
                add_strips(e, a, packed, y, distance, begin, std::min(end, whole));
                if (end > whole)
                  add_last_strip(e, a, packed + whole * e.inner * kLanes, width, y + whole * kLanes, distance);
              });
}

}  // namespace cohort::onednn
