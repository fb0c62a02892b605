#pragma once

#include <cstdint>
#include <vector>

#include "executor/onednn/implementation.hpp"
#include "models/op_elementwise.hpp"

namespace cohort::onednn {

/// What a loop over a run of elements gets; steps are between elements. y may be x.
struct ActivationRun {
  const float* x;
  std::int64_t x_step, count;
  float alpha, beta;  ///< the activation's
  float* y;
  std::int64_t y_step;
};

/// y = f(x), vectorised where both steps are one; null where there are no loops for the function.
using ActivationLoops = void (*)(const ActivationRun&);
ActivationLoops activation_loops(const Activation& op);

/// One function after the other, in place on a call's output, in one pass over memory; empty where there are no loops
/// for one of them.
Loop apply_in_place(const std::vector<Activation>& functions, const View& y, int threads);

}  // namespace cohort::onednn
