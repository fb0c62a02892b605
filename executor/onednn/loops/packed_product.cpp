#include "executor/onednn/loops/packed_product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "models/eight_bits.hpp"

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

/// The whole number at place `at` of a word.
template <int kBits>
COHORT_INLINE float level_at(float word, std::int64_t at) {
  const std::uint32_t highest = std::bit_cast<std::uint32_t>(word) << (32 - kBits * (at + 1));
  return static_cast<float>(static_cast<std::int32_t>(highest) >> (32 - kBits));
}

/// Words that hold so many whole numbers.
std::int64_t words_of(std::int64_t numbers, int bits) { return (numbers * bits + 31) / 32; }

/// sums += a b' for the first `count` elements of each column's word, and those of a from `x` on.
template <std::size_t kRows, std::size_t kStrips, int kBits>
COHORT_INLINE void add_levels(const Matrix& a, std::int64_t x, const float* words, std::int64_t strip_size,
                              std::int64_t count, float (&sums)[kRows][kStrips][kLanes]) {
  for (std::int64_t at = 0; at < count; ++at) {
    for (std::size_t strip = 0; strip < kStrips; ++strip) {
      const float* const of_strip = words + static_cast<std::int64_t>(strip) * strip_size;
      float b[kLanes];
#pragma omp simd
      for (std::int64_t c = 0; c < kLanes; ++c) b[c] = level_at<kBits>(of_strip[c], at);
      for (std::size_t row = 0; row < kRows; ++row) {
        const float factor = a.data[static_cast<std::int64_t>(row) * a.distance + x + at];
#pragma omp simd
        for (std::int64_t c = 0; c < kLanes; ++c) sums[row][strip][c] += factor * b[c];
      }
    }
  }
}

/// As add_tile(), of quantised weights.
template <std::size_t kRows, std::size_t kStrips, int kBits>
COHORT_INLINE void add_quantized_tile(const Packing& packing, const Matrix& a, const float* packed, float* y,
                                      std::int64_t distance) {
  constexpr std::int64_t kPlaces = 32 / kBits;
  const std::int64_t strip_size = packing.size(kLanes), block = packing.quantized->block;
  for (std::int64_t first = 0; first < packing.inner; first += block) {
    const std::int64_t end = std::min(first + block, packing.inner);
    const float* words = packed + kLanes;
    float sums[kRows][kStrips][kLanes] = {};
    std::int64_t k = first;
    for (; k + kPlaces <= end; k += kPlaces, words += kLanes)
      add_levels<kRows, kStrips, kBits>(a, k, words, strip_size, kPlaces, sums);
    if (k < end) {
      add_levels<kRows, kStrips, kBits>(a, k, words, strip_size, end - k, sums);
      words += kLanes;
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      for (std::size_t strip = 0; strip < kStrips; ++strip) {
        const float* const steps = packed + static_cast<std::int64_t>(strip) * strip_size;
        float* const to = y + static_cast<std::int64_t>(row) * distance + static_cast<std::int64_t>(strip) * kLanes;
#pragma omp simd
        for (std::int64_t c = 0; c < kLanes; ++c) to[c] += steps[c] * sums[row][strip][c];
      }
    }
    packed = words;
  }
}

/// kRows rows, strips from `strip` on by kStrips, as far as there are so many of [strip, end), which are whole. Returns
/// the first that is left.
template <std::size_t kRows, std::size_t kStrips>
COHORT_INLINE std::int64_t add_tiles(const Packing& packing, const Matrix& a, const float* packed, float* y,
                                     std::int64_t distance, std::int64_t strip, std::int64_t end) {
  constexpr auto kStep = static_cast<std::int64_t>(kStrips);
  const std::int64_t strip_size = packing.size(kLanes);
  for (; strip + kStep <= end; strip += kStep) {
    const float* const from = packed + strip * strip_size;
    float* const to = y + strip * kLanes;
    if (!packing.quantized) {
      add_tile<kRows, kStrips>(packing.inner, a, from, to, distance);
    } else if (packing.quantized->bits == 8) {
      add_quantized_tile<kRows, kStrips, 8>(packing, a, from, to, distance);
    } else {
      add_quantized_tile<kRows, kStrips, 4>(packing, a, from, to, distance);
    }
  }
  return strip;
}

template <std::size_t kRows>
COHORT_INLINE void add_rows(const Packing& packing, const Matrix& a, const float* packed, float* y,
                            std::int64_t distance, std::int64_t begin, std::int64_t end) {
  std::int64_t strip = add_tiles<kRows, 6 / kRows>(packing, a, packed, y, distance, begin, end);
  if constexpr (kRows < 3) strip = add_tiles<kRows, 2>(packing, a, packed, y, distance, strip, end);
  add_tiles<kRows, 1>(packing, a, packed, y, distance, strip, end);
}

/// All rows, strips [begin, end), which are whole.
COHORT_INLINE void add_all_rows(const Packing& packing, std::int64_t rows, const Matrix& a, const float* packed,
                                float* y, std::int64_t distance, std::int64_t begin, std::int64_t end) {
  std::int64_t row = 0;
  const auto rest = [&] { return Matrix{a.data + row * a.distance, a.distance}; };
  for (; row + 6 <= rows; row += 6) add_rows<6>(packing, rest(), packed, y + row * distance, distance, begin, end);
  for (; row + 3 <= rows; row += 3) add_rows<3>(packing, rest(), packed, y + row * distance, distance, begin, end);
  for (; row + 2 <= rows; row += 2) add_rows<2>(packing, rest(), packed, y + row * distance, distance, begin, end);
  for (; row < rows; ++row) add_rows<1>(packing, rest(), packed, y + row * distance, distance, begin, end);
}

/// The same. Of quantised weights and many rows one strip after another, so that a strip stays near for all rows.
COHORT_VECTORS void add_strips(const Packing& packing, std::int64_t rows, const Matrix& a, const float* packed,
                               float* y, std::int64_t distance, std::int64_t begin, std::int64_t end) {
  const std::int64_t at_once = packing.quantized && rows > 6 ? 1 : end - begin;
  for (std::int64_t strip = begin; strip < end; strip += at_once)
    add_all_rows(packing, rows, a, packed, y, distance, strip, strip + at_once);
}

/// A strip of which only `width` columns are y's.
void add_last_strip(const Packing& packing, std::int64_t rows, const Matrix& a, const float* strip, std::int64_t width,
                    float* y, std::int64_t distance) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float sums[kLanes] = {};
    std::copy_n(y + row * distance, width, sums);
    add_strips(packing, 1, {a.data + row * a.distance, a.distance}, strip, sums, kLanes, 0, 1);
    std::copy_n(sums, width, y + row * distance);
  }
}

void pack_float(const float* b, std::int64_t columns, std::int64_t inner, float* packed) {
  for (std::int64_t column = 0; column < columns; ++column) {
    float* const to = packed + column / kLanes * kLanes * inner + column % kLanes;
    for (std::int64_t k = 0; k < inner; ++k) to[k * kLanes] = b[column * inner + k];
  }
}

void pack_quantized(const Packing& packing, const float* b, std::int64_t columns, float* packed) {
  const std::int64_t inner = packing.inner;
  const auto [block, bits] = *packing.quantized;
  const std::vector<float> steps =
      steps_of_blocks({b, static_cast<std::size_t>(columns * inner)}, columns, block, bits);
  if (steps.empty() && columns > 0)
    throw DeviceError("weights are not quantised as their op says: no number divides a block of them");
  auto step = steps.begin();
  for (std::int64_t column = 0; column < columns; ++column) {
    float* to = packed + column / kLanes * packing.size(kLanes) + column % kLanes;
    for (std::int64_t first = 0; first < inner; first += block, ++step) {
      const std::int64_t count = std::min(block, inner - first);
      to[0] = *step;
      for (std::int64_t k = 0; k < count; ++k) {
        const auto level = static_cast<std::int32_t>(std::nearbyint(b[column * inner + first + k] / *step));
        float& word = to[(1 + k * bits / 32) * kLanes];
        const std::uint32_t kept = static_cast<std::uint32_t>(level) & ((1U << bits) - 1);
        word = std::bit_cast<float>(std::bit_cast<std::uint32_t>(word) | kept << (k * bits % 32));
      }
      to += (1 + words_of(count, bits)) * kLanes;
    }
  }
}

}  // namespace

std::int64_t Packing::size(std::int64_t columns) const {
  const std::int64_t strips = (columns + kLanes - 1) / kLanes;
  if (!quantized) return strips * kLanes * inner;
  const std::int64_t whole = inner / quantized->block, rest = inner % quantized->block;
  std::int64_t floats = whole * (1 + words_of(quantized->block, quantized->bits));
  if (rest > 0) floats += 1 + words_of(rest, quantized->bits);
  return strips * kLanes * floats;
}

Bytes Packing::padding(std::int64_t columns) const {
  return Bytes{(size(columns) - columns * inner) * std::int64_t{sizeof(float)}};
}

void Packing::pack(const float* b, std::int64_t columns, float* packed) const {
  std::fill_n(packed, size(columns), 0.0F);
  quantized ? pack_quantized(*this, b, columns, packed) : pack_float(b, columns, inner, packed);
}

std::vector<float> Packing::pack(const std::vector<float>& values, std::int64_t columns) const {
  const std::int64_t matrices = static_cast<std::int64_t>(values.size()) / (columns * inner);
  std::vector<float> packed(static_cast<std::size_t>(matrices * size(columns)));
  for (std::int64_t i = 0; i < matrices; ++i)
    pack(values.data() + i * columns * inner, columns, packed.data() + i * size(columns));
  return packed;
}

void multiply_packed(std::int64_t rows, std::int64_t columns, const Packing& packing, const Matrix& a,
                     const float* packed, float* y, std::int64_t distance, int threads) {
  const std::int64_t whole = columns / kLanes, width = columns % kLanes;
  in_parallel(
      threads, whole + (width > 0 ? 1 : 0), rows * packing.inner * kLanes, [&](std::int64_t begin, std::int64_t end) {
        add_strips(packing, rows, a, packed, y, distance, begin, std::min(end, whole));
        if (end > whole)
          add_last_strip(packing, rows, a, packed + packing.size(whole * kLanes), width, y + whole * kLanes, distance);
      });
}

}  // namespace cohort::onednn
