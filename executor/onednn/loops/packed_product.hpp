#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "executor/onednn/loops/product.hpp"

/// Products of few rows with a constant matrix, which is laid out for them once: each element of it is read once for
/// up to six rows, and none of a result's sums has to be taken across a register.
namespace cohort::onednn {

/// Floats of a packed matrix [columns, inner].
std::int64_t packed_size(std::int64_t columns, std::int64_t inner);

/// By how much larger it is than the matrix.
Bytes strip_padding(std::int64_t columns, std::int64_t inner);

/// Packs b [columns, inner], which lies row by row, in strips of kLanes columns, each in one piece. What the last strip
/// lacks in columns is zero.
void pack_strips(const float* b, std::int64_t columns, std::int64_t inner, float* packed);
/// Packs all matrices that `values` holds one after another.
std::vector<float> pack_strips(const std::vector<float>& values, std::int64_t columns, std::int64_t inner);

/// y += a b' of a [rows, inner], which is not transposed, and a packed b [columns, inner]; rows of y are `distance`
/// elements apart.
void multiply_packed(const Extents& e, const Matrix& a, const float* packed, float* y, std::int64_t distance,
                     int threads);

}  // namespace cohort::onednn
