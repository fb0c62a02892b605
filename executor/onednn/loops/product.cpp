#include "executor/onednn/loops/product.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Rows up to which dot products are taken.
constexpr std::int64_t kFewRows = 8;

COHORT_INLINE float sum_of(const Lanes& lanes) {
  float sum = 0;
  for (std::int64_t i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

/// kRows rows of a with four of b: 4 kRows elements of y.
template <std::size_t kRows>
COHORT_INLINE void few_dots(const Matrix& a, const Matrix& b, std::int64_t inner, bool add, float* y,
                            std::int64_t distance) {
  Lanes sums[kRows][4] = {};
  const auto row_of = [](const Matrix& m, std::size_t row) {
    return m.data + static_cast<std::int64_t>(row) * m.distance;
  };
  const std::int64_t whole = inner / kLanes * kLanes;
  for (std::int64_t k = 0; k < whole; k += kLanes) {
    Lanes x[kRows], w;
    for (std::size_t row = 0; row < kRows; ++row) load(row_of(a, row) + k, x[row]);
    for (std::size_t column = 0; column < 4; ++column) {
      load(row_of(b, column) + k, w);
      for (std::size_t row = 0; row < kRows; ++row) sums[row][column] += x[row] * w;
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      float sum = sum_of(sums[row][column]);
      for (std::int64_t k = whole; k < inner; ++k) sum += row_of(a, row)[k] * row_of(b, column)[k];
      float& to = y[static_cast<std::int64_t>(row) * distance + static_cast<std::int64_t>(column)];
      to = add ? to + sum : sum;
    }
  }
}

COHORT_INLINE float dot(const float* x, const float* w, std::int64_t inner) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t k = 0; k < inner; ++k) sum += x[k] * w[k];
  return sum;
}

/// Columns [begin, end) of y.
COHORT_VECTORS void dots(const Extents& e, const Matrix& a, const Matrix& b, bool add, float* y, std::int64_t distance,
                         std::int64_t begin, std::int64_t end) {
  std::int64_t column = begin;
  for (; column + 4 <= end; column += 4) {
    const Matrix columns{b.data + column * b.distance, b.distance};
    std::int64_t row = 0;
    for (; row + 2 <= e.rows; row += 2)
      few_dots<2>({a.data + row * a.distance, a.distance}, columns, e.inner, add, y + row * distance + column,
                  distance);
    if (row < e.rows)
      few_dots<1>({a.data + row * a.distance, a.distance}, columns, e.inner, add, y + row * distance + column,
                  distance);
  }
  for (; column < end; ++column) {
    for (std::int64_t row = 0; row < e.rows; ++row) {
      const float sum = dot(a.data + row * a.distance, b.data + column * b.distance, e.inner);
      float& to = y[row * distance + column];
      to = add ? to + sum : sum;
    }
  }
}

}  // namespace

void multiply(const Extents& e, const Matrix& a, const Matrix& b, bool add, float* y, int threads,
              std::int64_t distance) {
  if (e.rows == 0 || e.inner == 0) return;
  if (distance == 0) distance = e.columns;
  if (e.rows <= kFewRows && b.transposed && !a.transposed) {
    in_parallel(threads, e.columns, e.inner * e.rows,
                [&](std::int64_t begin, std::int64_t end) { dots(e, a, b, add, y, distance, begin, end); });
    return;
  }
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', e.rows, e.columns, e.inner, 1.0F, a.data,
                 a.distance, b.data, b.distance, add ? 1.0F : 0.0F, y, distance);
  if (status != dnnl_success) throw DeviceError(fmt::format("sgemm failed with status {}", status));
}

}  // namespace cohort::onednn
