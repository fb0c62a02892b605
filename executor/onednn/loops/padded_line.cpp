#include "executor/onednn/loops/padded_line.hpp"

#include <algorithm>

#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// Elements `step` apart side by side. Signals are read at every position or every other one.
COHORT_VECTORS void gather(const float* from, std::int64_t step, std::int64_t count, float* to) {
  if (step == 1) {
    std::copy_n(from, count, to);
  } else if (step == 2) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  }
}

}  // namespace

void copy_padded(const PaddedLine& line, std::int64_t first, std::int64_t stride, std::int64_t count, float* to) {
  const auto count_before = [&](std::int64_t element) {
    return element <= first ? std::int64_t{0} : std::min(count, (element - first + stride - 1) / stride);
  };
  const std::int64_t begin = line.data != nullptr ? count_before(0) : count;
  const std::int64_t end = line.data != nullptr ? count_before(line.length) : count;
  std::fill(to, to + begin, 0.0F);
  if (begin < end)
    gather(line.data + (first + begin * stride) * line.step, stride * line.step, end - begin, to + begin);
  std::fill(to + end, to + count, 0.0F);
}

}  // namespace cohort::onednn
