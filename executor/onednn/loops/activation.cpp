// Elementwise functions: as ops of their own those that the library lacks, or of which its kernels lose a NaN; within
// other loops all.

#include "executor/onednn/loops/activation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/onednn/operands.hpp"

namespace cohort::onednn {
namespace {

using Run = ActivationRun;

template <class Function>
COHORT_INLINE void map(const Run& r, const Function& function) {
  if (r.x_step != 1 || r.y_step != 1) {
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i * r.y_step] = function(r.x[i * r.x_step]);
    return;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < r.count; ++i) r.y[i] = function(r.x[i]);
}

/// Comparisons with a NaN are false: it must be what is left where they are.
/// Where the bounds are crossed, the upper one counts, as in min(max(x, least), most).
COHORT_INLINE float between(float x, float least, float most) {
  const float raised = x < least ? least : x;
  return raised > most ? most : raised;
}

COHORT_VECTORS void relu(const Run& r) {
  map(r, [](float x) { return x < 0 ? 0.0F : x; });
}
COHORT_VECTORS void clip(const Run& r) {
  map(r, [&](float x) { return between(x, r.alpha, r.beta); });
}
COHORT_VECTORS void exponential(const Run& r) {
  map(r, [](float x) { return vector_exp(x); });
}
COHORT_VECTORS void fake_quantize(const Run& r) {
  map(r, [&](float x) { return r.alpha * between(std::nearbyint(x / r.alpha), r.beta, r.beta + 255.0F); });
}
COHORT_VECTORS void hard_sigmoid(const Run& r) {
  map(r, [&](float x) { return between(r.alpha * x + r.beta, 0, 1); });
}
COHORT_VECTORS void selu(const Run& r) {
  map(r, [&](float x) { return r.beta * (x > 0 ? x : r.alpha * (vector_exp(x) - 1.0F)); });
}
COHORT_VECTORS void celu(const Run& r) {
  map(r, [&](float x) { return x > 0 ? x : r.alpha * (vector_exp(x / r.alpha) - 1.0F); });
}
COHORT_VECTORS void softsign(const Run& r) {
  map(r, [](float x) { return x / (1.0F + std::fabs(x)); });
}
COHORT_VECTORS void reciprocal(const Run& r) {
  map(r, [](float x) { return 1.0F / x; });
}
COHORT_VECTORS void floor(const Run& r) {
  map(r, [](float x) { return std::floor(x); });
}
COHORT_VECTORS void ceil(const Run& r) {
  map(r, [](float x) { return std::ceil(x); });
}
COHORT_VECTORS void round(const Run& r) {
  map(r, [](float x) { return std::nearbyint(x); });
}
COHORT_VECTORS void thresholded_relu(const Run& r) {
  map(r, [&](float x) { return x <= r.alpha ? 0.0F : x; });
}
COHORT_VECTORS void leaky_relu(const Run& r) {
  map(r, [&](float x) { return x < 0 ? r.alpha * x : x; });
}
COHORT_VECTORS void sigmoid(const Run& r) {
  map(r, [](float x) { return vector_sigmoid(x); });
}
COHORT_VECTORS void hyperbolic_tangent(const Run& r) {
  map(r, [](float x) { return vector_tanh(x); });
}
COHORT_VECTORS void hard_swish(const Run& r) {
  map(r, [](float x) { return x * between(x * (1.0F / 6) + 0.5F, 0, 1); });
}
COHORT_VECTORS void swish(const Run& r) {
  map(r, [&](float x) { return x * vector_sigmoid(r.alpha * x); });
}
COHORT_VECTORS void softplus(const Run& r) {
  map(r, [](float x) { return vector_softplus(x); });
}
COHORT_VECTORS void logarithm(const Run& r) {
  map(r, [](float x) { return vector_log(x); });
}
COHORT_VECTORS void error_function(const Run& r) {
  map(r, [](float x) { return vector_erf(x); });
}
void sine(const Run& r) {
  map(r, [](float x) { return std::sin(x); });
}
void cosine(const Run& r) {
  map(r, [](float x) { return std::cos(x); });
}
/// Functions that networks rarely have, as the C library computes them.
template <float (*kFunction)(float)>
void by_library(const Run& r) {
  map(r, [](float x) { return kFunction(x); });
}
COHORT_VECTORS void absolute(const Run& r) {
  map(r, [](float x) { return std::fabs(x); });
}
COHORT_VECTORS void negative(const Run& r) {
  map(r, [](float x) { return -x; });
}
COHORT_VECTORS void square_root(const Run& r) {
  map(r, [](float x) { return std::sqrt(x); });
}
COHORT_VECTORS void elu(const Run& r) {
  map(r, [&](float x) { return x > 0 ? x : r.alpha * (vector_exp(x) - 1.0F); });
}
COHORT_VECTORS void gelu(const Run& r) {
  map(r, [](float x) { return 0.5F * x * (1.0F + vector_erf(x * 0.70710678F)); });
}
COHORT_VECTORS void gelu_by_tanh(const Run& r) {
  map(r, [](float x) { return 0.5F * x * (1.0F + vector_tanh(0.79788456F * (x + 0.044715F * x * x * x))); });
}
COHORT_VECTORS void mish(const Run& r) {
  map(
      r, [](float x) __attribute__((always_inline)) {
        // tanh(log(1 + e)) = ((1 + e)^2 - 1) / ((1 + e)^2 + 1), which rounds nothing away where e is small.
        const float e = vector_exp(x < 40.0F ? x : 40.0F);
        const float above = e * (e + 2.0F);
        return x * (above / (above + 2.0F));
      });
}
COHORT_VECTORS void sign(const Run& r) {
  map(r, [](float x) { return x > 0 ? 1.0F : (x < 0 ? -1.0F : (x == 0 ? 0.0F : x)); });
}

/// Whether the library's kernel is right for all values.
bool library_has(const Activation& op) { return !goes_wrong(op) && eltwise(op).has_value(); }

}  // namespace

/// Pointers to lambdas: a function of several targets has no address of its own.
ActivationLoops activation_loops(const Activation& op) {
  switch (op.kind) {
    case ActivationKind::kRelu:
      return [](const Run& r) { relu(r); };
    case ActivationKind::kClip:
      return [](const Run& r) { clip(r); };
    case ActivationKind::kExp:
      return [](const Run& r) { exponential(r); };
    case ActivationKind::kHardSigmoid:
      return [](const Run& r) { hard_sigmoid(r); };
    case ActivationKind::kSelu:
      return [](const Run& r) { selu(r); };
    case ActivationKind::kCelu:
      return op.alpha > 0 ? [](const Run& r) { celu(r); } : ActivationLoops{nullptr};
    case ActivationKind::kSoftsign:
      return [](const Run& r) { softsign(r); };
    case ActivationKind::kReciprocal:
      return [](const Run& r) { reciprocal(r); };
    case ActivationKind::kFloor:
      return [](const Run& r) { floor(r); };
    case ActivationKind::kCeil:
      return [](const Run& r) { ceil(r); };
    case ActivationKind::kRound:
      return [](const Run& r) { round(r); };
    case ActivationKind::kFakeQuantize:
      return [](const Run& r) { fake_quantize(r); };
    case ActivationKind::kThresholdedRelu:
      return [](const Run& r) { thresholded_relu(r); };
    case ActivationKind::kLeakyRelu:
      return [](const Run& r) { leaky_relu(r); };
    case ActivationKind::kSigmoid:
      return [](const Run& r) { sigmoid(r); };
    case ActivationKind::kTanh:
      return [](const Run& r) { hyperbolic_tangent(r); };
    case ActivationKind::kHardSwish:
      return [](const Run& r) { hard_swish(r); };
    case ActivationKind::kSwish:
      return [](const Run& r) { swish(r); };
    case ActivationKind::kSoftplus:
      return [](const Run& r) { softplus(r); };
    case ActivationKind::kLog:
      return [](const Run& r) { logarithm(r); };
    case ActivationKind::kErf:
      return [](const Run& r) { error_function(r); };
    case ActivationKind::kSin:
      return sine;
    case ActivationKind::kCos:
      return cosine;
    case ActivationKind::kAsin:
      return by_library<asinf>;
    case ActivationKind::kAcos:
      return by_library<acosf>;
    case ActivationKind::kAtan:
      return by_library<atanf>;
    case ActivationKind::kSinh:
      return by_library<sinhf>;
    case ActivationKind::kCosh:
      return by_library<coshf>;
    case ActivationKind::kAsinh:
      return by_library<asinhf>;
    case ActivationKind::kAcosh:
      return by_library<acoshf>;
    case ActivationKind::kAtanh:
      return by_library<atanhf>;
    case ActivationKind::kSign:
      return [](const Run& r) { sign(r); };
    case ActivationKind::kAbs:
      return [](const Run& r) { absolute(r); };
    case ActivationKind::kNeg:
      return [](const Run& r) { negative(r); };
    case ActivationKind::kSqrt:
      return [](const Run& r) { square_root(r); };
    case ActivationKind::kElu:
      return [](const Run& r) { elu(r); };
    case ActivationKind::kGelu:
      return [](const Run& r) { gelu(r); };
    case ActivationKind::kGeluTanh:
      return [](const Run& r) { gelu_by_tanh(r); };
    case ActivationKind::kMish:
      return [](const Run& r) { mish(r); };
  }
  return nullptr;
}

std::optional<ActivationChain> ActivationChain::of(const std::vector<PostOp>& post_ops) {
  ActivationChain chain;
  for (const PostOp& post_op : post_ops) {
    const auto* const function = std::get_if<Activation>(&post_op);
    const ActivationLoops loops = function != nullptr ? activation_loops(*function) : nullptr;
    if (loops == nullptr) return std::nullopt;
    chain.functions_.push_back(*function);
    chain.loops_.push_back(loops);
  }
  return chain;
}

namespace {

/// Functions on y, in one pass; empty where ActivationChain::of() is.
Loop apply_in_place(const std::vector<PostOp>& functions, const View& y, int threads) {
  const auto chain = ActivationChain::of(functions);
  if (!chain) return {};
  const StridedWalk<1> walk(y.shape, {y.strides});
  const std::int64_t step = walk.run_steps()[0];
  return [=](const HostArguments& arguments) {
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      chain->follow(count, arguments.outputs[0] + at[0], step, [](std::int64_t, std::int64_t) {});
    });
  };
}

/// Adds an operand of the output's shape.
Loop add_in_place(const OpCall& call, std::size_t operand, int threads) {
  const auto* const x = std::get_if<View>(&call.inputs[operand]);
  const View& y = call.outputs[0];
  if (x == nullptr || x->buffer == y.buffer) return {};
  const StridedWalk<2> walk(y.shape, {y.strides, x->strides});
  const auto [y_step, x_step] = walk.run_steps();
  return [=, y_step = y_step, x_step = x_step](const HostArguments& arguments) {
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      float* const to = arguments.outputs[0] + at[0];
      const float* const from = arguments.inputs[operand] + at[1];
      if (y_step == 1 && x_step == 1) return add_to(from, count, to);
      for (std::int64_t i = 0; i < count; ++i) to[i * y_step] += from[i * x_step];
    });
  };
}

}  // namespace

Loop follow_in_place(const OpCall& call, int threads) {
  std::vector<Loop> passes;
  std::vector<PostOp> functions;
  const auto take_functions = [&] {
    if (!functions.empty()) passes.push_back(apply_in_place(std::exchange(functions, {}), call.outputs[0], threads));
  };
  for (const PostOp& post_op : call.post_ops) {
    if (const auto* const add = std::get_if<AddOperand>(&post_op)) {
      take_functions();
      passes.push_back(add_in_place(call, add->operand, threads));
    } else {
      functions.push_back(post_op);
    }
  }
  take_functions();
  if (passes.empty() || !std::all_of(passes.begin(), passes.end(), [](const Loop& pass) { return bool(pass); }))
    return {};
  return [passes](const HostArguments& arguments) {
    for (const Loop& pass : passes) pass(arguments);
  };
}

OwnWays own_ways(const Activation& op, const OpCall& call, int threads) {
  const ActivationLoops loops = activation_loops(op);
  const auto chain = ActivationChain::of(call.post_ops);
  if (loops == nullptr || !chain || (call.post_ops.empty() && library_has(op))) return {};
  const View &y = call.outputs[0], x = view_of(call, 0);
  const StridedWalk<2> walk(y.shape, {y.strides, x.strides});
  const std::int64_t y_step = walk.run_steps()[0], x_step = walk.run_steps()[1];
  return {{[=, alpha = op.alpha, beta = op.beta](const HostArguments& arguments) {
    const auto visit = [&](const auto& at, std::int64_t all) {
      const float* const from = arguments.inputs[0] + at[1];
      float* const to = arguments.outputs[0] + at[0];
      chain->follow(all, to, y_step, [&](std::int64_t first, std::int64_t count) {
        loops({from + first * x_step, x_step, count, alpha, beta, to + first * y_step, y_step});
      });
    };
    walk_in_parallel(walk, threads, visit, 1 + chain->size());
  }}};
}

}  // namespace cohort::onednn
