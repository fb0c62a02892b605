// Gradients of elementwise functions that loops compute at least as fast as memory gives them what they need.

#include <array>
#include <cmath>

#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {
namespace {

/// What a loop over a run gets. z is the function's argument, or its result where derives_from_result() says so.
struct Run {
  const float *z, *dy;
  std::int64_t count;
  float alpha, beta;
  float* dx;
};

template <class Slope>
COHORT_INLINE void multiply(const Run& r, const Slope& slope) {
#pragma omp simd
  for (std::int64_t i = 0; i < r.count; ++i) r.dx[i] = r.dy[i] * slope(r.z[i]);
}

COHORT_VECTORS void relu(const Run& r) {
#pragma omp simd
  for (std::int64_t i = 0; i < r.count; ++i) {
    const float given = r.dy[i];  // read in any case: a read on condition is no vector's
    r.dx[i] = r.z[i] > 0 ? given : 0.0F;
  }
}
COHORT_VECTORS void leaky_relu(const Run& r) {
  multiply(r, [&](float z) { return z > 0 ? 1.0F : r.alpha; });
}
COHORT_VECTORS void clip(const Run& r) {
  multiply(r, [&](float z) { return z > r.alpha && z < r.beta ? 1.0F : 0.0F; });
}
COHORT_VECTORS void elu(const Run& r) {
  multiply(r, [&](float z) { return z > 0 ? 1.0F : r.alpha * vector_exp(z); });
}
COHORT_VECTORS void sigmoid_by_result(const Run& r) {
  multiply(r, [](float z) { return z * (1.0F - z); });
}
COHORT_VECTORS void tanh_by_result(const Run& r) {
  multiply(r, [](float z) { return 1.0F - z * z; });
}
COHORT_VECTORS void by_result(const Run& r) {
  multiply(r, [](float z) { return z; });
}
COHORT_VECTORS void sqrt_by_result(const Run& r) {
  multiply(r, [](float z) { return 0.5F / z; });
}
COHORT_VECTORS void negative(const Run& r) {
  multiply(r, [](float) { return -1.0F; });
}
COHORT_VECTORS void hard_sigmoid_by_result(const Run& r) {
  multiply(r, [&](float z) { return z > 0 && z < 1 ? r.alpha : 0.0F; });
}
COHORT_VECTORS void hard_swish(const Run& r) {
  multiply(r, [](float z) { return z <= -3 ? 0.0F : (z >= 3 ? 1.0F : z / 3.0F + 0.5F); });
}
COHORT_VECTORS void swish(const Run& r) {
  multiply(r, [&](float z) {
    const float s = vector_sigmoid(r.alpha * z);
    return s + r.alpha * z * s * (1.0F - s);
  });
}
COHORT_VECTORS void softplus(const Run& r) {
  multiply(r, [](float z) { return vector_sigmoid(z); });
}
COHORT_VECTORS void softsign_by_result(const Run& r) {
  multiply(r, [](float z) { return (1.0F - std::fabs(z)) * (1.0F - std::fabs(z)); });
}
COHORT_VECTORS void reciprocal_by_result(const Run& r) {
  multiply(r, [](float z) { return -z * z; });
}
COHORT_VECTORS void logarithm(const Run& r) {
  multiply(r, [](float z) { return 1.0F / z; });
}
COHORT_VECTORS void absolute(const Run& r) {
  multiply(r, [](float z) { return z > 0 ? 1.0F : (z < 0 ? -1.0F : 0.0F); });
}
COHORT_VECTORS void thresholded_relu(const Run& r) {
  multiply(r, [&](float z) { return z > r.alpha ? 1.0F : 0.0F; });
}
/// Of steps.
COHORT_VECTORS void zero(const Run& r) {
  multiply(r, [](float) { return 0.0F; });
}
/// Source of the formula: Hendrycks & Gimpel, arXiv:1606.08415.
COHORT_VECTORS void gelu_tanh(const Run& r) {
  multiply(r, [](float z) {
    constexpr float kRoot = 0.7978845608028654F, kCube = 0.044715F;
    constexpr float kFar = 1e6F;  // beyond it the second term is 0, and its square may overflow
    const float t = vector_tanh(kRoot * (z + kCube * z * z * z));
    const float near = z > kFar ? kFar : (z < -kFar ? -kFar : z);
    return 0.5F * (1.0F + t) + 0.5F * near * (1.0F - t * t) * kRoot * (1.0F + 3.0F * kCube * near * near);
  });
}

using Loops = void (*)(const Run&);

Loops by_result_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return [](const Run& r) { relu(r); };
    case ActivationKind::kSigmoid:
      return [](const Run& r) { sigmoid_by_result(r); };
    case ActivationKind::kTanh:
      return [](const Run& r) { tanh_by_result(r); };
    case ActivationKind::kClip:
      return [](const Run& r) { clip(r); };
    case ActivationKind::kHardSigmoid:
      return [](const Run& r) { hard_sigmoid_by_result(r); };
    case ActivationKind::kSoftsign:
      return [](const Run& r) { softsign_by_result(r); };
    case ActivationKind::kSqrt:
      return [](const Run& r) { sqrt_by_result(r); };
    case ActivationKind::kNeg:
      return [](const Run& r) { negative(r); };
    case ActivationKind::kExp:
      return [](const Run& r) { by_result(r); };
    case ActivationKind::kReciprocal:
      return [](const Run& r) { reciprocal_by_result(r); };
    case ActivationKind::kFloor:
    case ActivationKind::kCeil:
    case ActivationKind::kRound:
    case ActivationKind::kSign:
      return [](const Run& r) { zero(r); };
    default:
      return nullptr;
  }
}

Loops by_argument_of(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kLeakyRelu:
      return [](const Run& r) { leaky_relu(r); };
    case ActivationKind::kElu:
      return [](const Run& r) { elu(r); };
    case ActivationKind::kHardSwish:
      return [](const Run& r) { hard_swish(r); };
    case ActivationKind::kSwish:
      return [](const Run& r) { swish(r); };
    case ActivationKind::kSoftplus:
      return [](const Run& r) { softplus(r); };
    case ActivationKind::kLog:
      return [](const Run& r) { logarithm(r); };
    case ActivationKind::kAbs:
      return [](const Run& r) { absolute(r); };
    case ActivationKind::kThresholdedRelu:
      return [](const Run& r) { thresholded_relu(r); };
    case ActivationKind::kGeluTanh:
      return [](const Run& r) { gelu_tanh(r); };
    default:
      return nullptr;
  }
}

}  // namespace

OwnWays own_ways(const ActivationGradient& op, const OpCall& call, int threads) {
  const ActivationKind kind = op.activation.kind;
  const Loops loops = derives_from_result(kind) ? by_result_of(kind) : by_argument_of(kind);
  const View z = view_of(call, 0), dy = view_of(call, 1), &dx = call.outputs[0];
  const StridedWalk<3> walk(dx.shape, {dx.strides, dy.strides, z.strides});
  if (loops == nullptr || !call.post_ops.empty() || walk.run_steps() != std::array<std::int64_t, 3>{1, 1, 1}) return {};
  return {{[=, alpha = op.activation.alpha, beta = op.activation.beta](const HostArguments& arguments) {
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      loops(
          {arguments.inputs[0] + at[2], arguments.inputs[1] + at[1], count, alpha, beta, arguments.outputs[0] + at[0]});
    });
  }}};
}

}  // namespace cohort::onednn
