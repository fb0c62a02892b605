#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "executor/onednn/loops/product.hpp"
#include "models/op_dense.hpp"

/// Products of few rows with a constant matrix, which is laid out for them once: each element of it is read once for
/// up to six rows, and none of a result's sums has to be taken across a register.
namespace cohort::onednn {

/// How a matrix [columns, inner] is laid out: in strips of kLanes columns, each in one piece, element by element of
/// them. What the last strip lacks in columns is zero. Of quantised weights each block is a step for each of the
/// columns, and then words of 32 bits for each of them, which hold its next 4 or 8 elements, the first in the lowest
/// bits.
struct Packing {
  std::int64_t inner = 0;
  std::optional<QuantizedWeights> quantized = {};  ///< absent: float32

  /// Floats of so many columns.
  [[nodiscard]] std::int64_t size(std::int64_t columns) const;
  /// By how much larger they are than as a matrix of float32; less than 0 where they are smaller.
  [[nodiscard]] Bytes padding(std::int64_t columns) const;

  /// b lies row by row, `packed` has size(columns) floats. Throws DeviceError where b is not quantised so.
  void pack(const float* b, std::int64_t columns, float* packed) const;
  /// All matrices that `values` holds one after another.
  [[nodiscard]] std::vector<float> pack(const std::vector<float>& values, std::int64_t columns) const;
};

/// y += a b' of a [rows, inner], which is not transposed, and a packed b [columns, inner]; rows of y are `distance`
/// elements apart.
void multiply_packed(std::int64_t rows, std::int64_t columns, const Packing& packing, const Matrix& a,
                     const float* packed, float* y, std::int64_t distance, int threads);

}  // namespace cohort::onednn
