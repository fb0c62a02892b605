#include "executor/onednn/loops/quantize.hpp"

#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

COHORT_VECTORS void quantize(const float* x, std::int64_t count, float inverse, float shift, std::uint8_t* levels) {
  const float rounded = shift + 0.5F;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    float level = x[i] * inverse + rounded;
    level = level > 0 ? level : 0;
    level = level < 255 ? level : 255;
    levels[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(level));
  }
}

}  // namespace

void Quantize::run(const float* x, std::int64_t count, std::uint8_t* levels) const {
  quantize(x, count, inverse_, shift_, levels);
}

}  // namespace cohort::onednn
