#include "executor/onednn/loops/indices.hpp"

#include "executor/device_error.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

/// Whether all are in range.
COHORT_VECTORS bool count_from_front(std::int64_t extent, const float* from, std::int64_t count, std::int64_t* to) {
  int outside = 0;
#pragma omp simd reduction(+ : outside)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = reference::whole(from[i]);
    outside += index < -extent || index >= extent ? 1 : 0;
    to[i] = index < 0 ? index + extent : index;
  }
  return outside == 0;
}

}  // namespace

void read_indices(std::string_view op, std::int64_t extent, const float* from, std::int64_t count, std::int64_t* to) {
  if (count_from_front(extent, from, count, to)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = reference::whole(from[i]);
    if (index < -extent || index >= extent)
      throw DeviceError(fmt::format("{}: index {} is outside of an axis of {}", op, index, extent));
  }
}

}  // namespace cohort::onednn
