#pragma once

#include <cmath>
#include <cstdint>

namespace cohort::onnx {

/// What Resize and Upsample make of `extent` elements by `scale`. ONNX says floor(extent * scale) and not in which
/// arithmetic: in float32, as ONNX Runtime computes it, 50 elements by 0.64 become 32, which the exporter meant; in
/// float64 they would be 31, as the float32 nearest to 0.64 is a little less.
inline std::int64_t resized_extent(std::int64_t extent, float scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(extent) * scale));
}

}  // namespace cohort::onnx
