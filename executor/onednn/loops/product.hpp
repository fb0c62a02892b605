#pragma once

#include <cstdint>

/// Matrix products within loops.
namespace cohort::onednn {

/// A row-major matrix, or its transpose.
struct Matrix {
  const float* data;
  std::int64_t distance;  ///< elements between rows as they lie
  bool transposed = false;
};

/// y [rows, columns] of a [rows, inner] and b [inner, columns].
struct Extents {
  std::int64_t rows, columns, inner;
};

/// y = a b, or with `add` y += a b; rows of y are `columns` apart, or `distance` where that is given. By the library's
/// sgemm, but few rows times a transpose by dot products, which read b about once.
/// Throws DeviceError where sgemm fails.
void multiply(const Extents& e, const Matrix& a, const Matrix& b, bool add, float* y, int threads,
              std::int64_t distance = 0);

}  // namespace cohort::onednn
