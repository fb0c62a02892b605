#pragma once

#include "executor/onednn/implementation.hpp"

namespace cohort::onednn {

/// Work after a primitive of a MaxPool or Softmax, whose kernels lose a NaN, and of a Softmax also a row that has +inf
/// or nothing but -inf: where the input holds such a thing, the op is computed anew by plain loops. Else it reads the
/// input once. Empty where the input is gone by then, because the output takes its place.
Loop compute_anew_where_lost(const OpCall& call, int threads);

}  // namespace cohort::onednn
