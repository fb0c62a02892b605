#include "executor/onednn/loops/product.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Rows up to which dot products are taken: more of them sgemm takes less time.
constexpr std::int64_t kFewRows = 4;

COHORT_INLINE float sum_of(const Lanes& lanes) {
  float sum = 0;
  for (std::int64_t i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

/// Four rows of b with one row of a.
COHORT_INLINE void four_dots(const float* a, const float* b, std::int64_t distance, std::int64_t inner, bool add,
                             float* y) {
  Lanes sums[4] = {};
  const std::int64_t whole = inner / kLanes * kLanes;
  for (std::int64_t k = 0; k < whole; k += kLanes) {
    Lanes x, w;
    load(a + k, x);
    for (std::int64_t r = 0; r < 4; ++r) {
      load(b + r * distance + k, w);
      sums[r] += x * w;
    }
  }
  for (std::int64_t r = 0; r < 4; ++r) {
    float sum = sum_of(sums[r]);
    for (std::int64_t k = whole; k < inner; ++k) sum += a[k] * b[r * distance + k];
    y[r] = add ? y[r] + sum : sum;
  }
}

/// Columns [begin, end) of y.
COHORT_VECTORS void dots(const Extents& e, const Matrix& a, const Matrix& b, bool add, float* y, std::int64_t distance,
                         std::int64_t begin, std::int64_t end) {
  std::int64_t column = begin;
  for (; column + 4 <= end; column += 4) {
    for (std::int64_t row = 0; row < e.rows; ++row)
      four_dots(a.data + row * a.distance, b.data + column * b.distance, b.distance, e.inner, add,
                y + row * distance + column);
  }
  for (; column < end; ++column) {
    for (std::int64_t row = 0; row < e.rows; ++row) {
      const float *const x = a.data + row * a.distance, *const w = b.data + column * b.distance;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < e.inner; ++k) sum += x[k] * w[k];
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
