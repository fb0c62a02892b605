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

/// A row times four others, which lie `distance` apart.
COHORT_INLINE void four_dots(const float* x, const float* w, std::int64_t distance, std::int64_t inner, bool add,
                             float* y) {
  const float *const second = w + distance, *const third = second + distance, *const fourth = third + distance;
  float a = 0, b = 0, c = 0, d = 0;
#pragma omp simd reduction(+ : a, b, c, d)
  for (std::int64_t k = 0; k < inner; ++k) {
    a += x[k] * w[k];
    b += x[k] * second[k];
    c += x[k] * third[k];
    d += x[k] * fourth[k];
  }
  const float sums[4] = {a, b, c, d};
  for (std::int64_t i = 0; i < 4; ++i) y[i] = add ? y[i] + sums[i] : sums[i];
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
    for (std::int64_t row = 0; row < e.rows; ++row)
      four_dots(a.data + row * a.distance, b.data + column * b.distance, b.distance, e.inner, add,
                y + row * distance + column);
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
