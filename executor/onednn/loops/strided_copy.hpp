#pragma once

#include "executor/onednn/loops/strided_walk.hpp"

namespace cohort::onednn {

/// y = x over a walk of {y, x}; threads share it.
void copy(const StridedWalk<2>& walk, int threads, const float* x, float* y);
/// y = value.
void fill(const StridedWalk<1>& walk, int threads, float value, float* y);

}  // namespace cohort::onednn
