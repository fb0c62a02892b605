// Elementwise ops of two operands that repeat in any way. The library has the four basic ones, where only its second
// operand repeats, and takes longer for some forms; its minimum and maximum give the second where the first is a NaN.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <optional>

#include "executor/device_error.hpp"
#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/loops/own_way.hpp"
#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::onednn {
namespace {

struct Run {
  const float *a, *b;
  float* y;
  std::int64_t a_step, b_step, y_step, count;
};

template <class Function>
COHORT_INLINE void combine(const Run& r, const Function& function) {
  if (r.y_step == 1 && r.a_step == 1 && r.b_step == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i] = function(r.a[i], r.b[i]);
  } else if (r.y_step == 1 && r.a_step == 1 && r.b_step == 0) {
    const float b = *r.b;
#pragma omp simd
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i] = function(r.a[i], b);
  } else if (r.y_step == 1 && r.a_step == 0 && r.b_step == 1) {
    const float a = *r.a;
#pragma omp simd
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i] = function(a, r.b[i]);
  } else {
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i * r.y_step] = function(r.a[i * r.a_step], r.b[i * r.b_step]);
  }
}

COHORT_VECTORS void sum(const Run& r) {
  combine(r, [](float a, float b) { return a + b; });
}
COHORT_VECTORS void difference(const Run& r) {
  combine(r, [](float a, float b) { return a - b; });
}
COHORT_VECTORS void product(const Run& r) {
  combine(r, [](float a, float b) { return a * b; });
}
COHORT_VECTORS void quotient(const Run& r) {
  combine(r, [](float a, float b) { return a / b; });
}
COHORT_VECTORS void smaller(const Run& r) {
  combine(r, [](float a, float b) { return a != a || a < b ? a : b; });
}
COHORT_VECTORS void larger(const Run& r) {
  combine(r, [](float a, float b) { return a != a || a > b ? a : b; });
}
COHORT_VECTORS void sloped(const Run& r) {
  combine(r, [](float a, float b) { return a < 0 ? a * b : a; });
}
void power(const Run& r) {
  if (r.b_step == 0 && *r.b == 2.0F) return product({r.a, r.a, r.y, r.a_step, r.a_step, r.y_step, r.count});
  combine(r, [](float a, float b) { return std::pow(a, b); });
}
void remainder(const Run& r) {
  combine(r, [](float a, float b) { return std::fmod(a, b); });
}

/// Truth of a comparison of elements of type Number, as it lies in memory.
template <class Number, class Predicate>
void compare(const Run& r, const Predicate& predicate) {
  combine(r, [&](float a, float b) {
    return reference::stored(predicate(std::bit_cast<Number>(a), std::bit_cast<Number>(b)) ? 1 : 0);
  });
}

using Loops = void (*)(const Run&);

/// Pointers to lambdas: a function of several targets has no address of its own.
template <class Number>
Loops comparison(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kEqual:
      return [](const Run& r) { compare<Number>(r, std::equal_to<>()); };
    case BinaryKind::kLess:
      return [](const Run& r) { compare<Number>(r, std::less<>()); };
    case BinaryKind::kLessOrEqual:
      return [](const Run& r) { compare<Number>(r, std::less_equal<>()); };
    case BinaryKind::kGreater:
      return [](const Run& r) { compare<Number>(r, std::greater<>()); };
    case BinaryKind::kGreaterOrEqual:
      return [](const Run& r) { compare<Number>(r, std::greater_equal<>()); };
    case BinaryKind::kAnd:
      return [](const Run& r) { compare<Number>(r, std::logical_and<>()); };
    case BinaryKind::kOr:
      return [](const Run& r) { compare<Number>(r, std::logical_or<>()); };
    case BinaryKind::kXor:
      return [](const Run& r) { compare<Number>(r, [](Number a, Number b) { return (a != 0) != (b != 0); }); };
    default:
      return nullptr;
  }
}

Loops on_floats(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return [](const Run& r) { sum(r); };
    case BinaryKind::kSub:
      return [](const Run& r) { difference(r); };
    case BinaryKind::kMul:
      return [](const Run& r) { product(r); };
    case BinaryKind::kDiv:
      return [](const Run& r) { quotient(r); };
    case BinaryKind::kMin:
      return [](const Run& r) { smaller(r); };
    case BinaryKind::kMax:
      return [](const Run& r) { larger(r); };
    case BinaryKind::kPRelu:
      return [](const Run& r) { sloped(r); };
    case BinaryKind::kPow:
      return [](const Run& r) { power(r); };
    case BinaryKind::kMod:
      return [](const Run& r) { remainder(r); };
    default:
      return comparison<float>(kind);
  }
}

/// Whole numbers: calls `combined(a, b)`, in 64 bits, for each, and returns a result that does not fit 32 bits, if any.
template <class Function>
std::optional<std::int64_t> combine_whole(const Run& r, const Function& combined) {
  std::optional<std::int64_t> beyond;
  for (std::int64_t i = 0; i < r.count; ++i) {
    const std::int64_t a = reference::whole(r.a[i * r.a_step]), b = reference::whole(r.b[i * r.b_step]);
    const std::int64_t result = combined(a, b);
    if (result != static_cast<std::int32_t>(result)) beyond = result;
    r.y[i * r.y_step] = reference::stored(static_cast<std::int32_t>(result));
  }
  return beyond;
}

using WholeLoops = std::optional<std::int64_t> (*)(const Run&);

WholeLoops on_whole_numbers(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return [](const Run& r) { return combine_whole(r, std::plus<>()); };
    case BinaryKind::kSub:
      return [](const Run& r) { return combine_whole(r, std::minus<>()); };
    case BinaryKind::kMul:
      return [](const Run& r) { return combine_whole(r, std::multiplies<>()); };
    case BinaryKind::kDiv:
      return [](const Run& r) { return combine_whole(r, [](auto a, auto b) { return b == 0 ? b : a / b; }); };
    case BinaryKind::kMod:
      return [](const Run& r) { return combine_whole(r, [](auto a, auto b) { return b == 0 ? b : a % b; }); };
    case BinaryKind::kMin:
      return [](const Run& r) { return combine_whole(r, [](auto a, auto b) { return std::min(a, b); }); };
    case BinaryKind::kMax:
      return [](const Run& r) { return combine_whole(r, [](auto a, auto b) { return std::max(a, b); }); };
    case BinaryKind::kPRelu:
      return [](const Run& r) { return combine_whole(r, [](auto a, auto b) { return a < 0 ? a * b : a; }); };
    case BinaryKind::kBitwiseAnd:
      return [](const Run& r) { return combine_whole(r, std::bit_and<>()); };
    case BinaryKind::kBitwiseOr:
      return [](const Run& r) { return combine_whole(r, std::bit_or<>()); };
    case BinaryKind::kBitwiseXor:
      return [](const Run& r) { return combine_whole(r, std::bit_xor<>()); };
    default:
      return nullptr;
  }
}

/// Calls visit(run) for parts of the output, threads sharing them.
template <class Visit>
Loop over_runs(const OpCall& call, int threads, const Visit& visit) {
  const View& y = call.outputs[0];
  const auto repeated = [&](std::size_t input) {
    const View view = view_of(call, input);
    return reference::broadcast_strides(view.shape, view.strides, y.shape);
  };
  const StridedWalk<3> walk(y.shape, {y.strides, repeated(0), repeated(1)});
  return [=, steps = walk.run_steps()](const HostArguments& arguments) {
    visit([&](const auto& each) {
      walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
        each(Run{arguments.inputs[0] + at[1], arguments.inputs[1] + at[2], arguments.outputs[0] + at[0], steps[1],
                 steps[2], steps[0], count});
      });
    });
  };
}

Loop check_whole(const Binary& op, const OpCall& call, int threads, WholeLoops loops) {
  return over_runs(call, threads, [=](const auto& for_each_run) {
    constexpr std::int64_t kNone = 0;  // fits
    std::atomic<std::int64_t> beyond = kNone;
    for_each_run([&](const Run& run) {
      if (const auto result = loops(run)) beyond.store(*result, std::memory_order_relaxed);
    });
    if (beyond == kNone) return;
    throw DeviceError(fmt::format("{}: a whole number came about that does not fit 32 bits: {}",
                                  op_type(OpAttributes(op)), beyond.load()));
  });
}

}  // namespace

OwnWays own_ways(const Binary& op, const OpCall& call, int threads) {
  if (element_count(call.outputs[0].shape) == 0) return {};
  const auto chain = ActivationChain::of(call.post_ops);
  if (!chain) return {};
  const bool on_whole = op.element == ElementType::kInt32;
  if (chain->size() > 0 && (on_whole || is_predicate(op.kind))) return {};  // functions are of floats
  if (on_whole && !is_predicate(op.kind)) {
    const WholeLoops loops = on_whole_numbers(op.kind);
    return loops == nullptr ? OwnWays{} : OwnWays{{check_whole(op, call, threads, loops)}};
  }
  const Loops loops = on_whole ? comparison<std::int32_t>(op.kind) : on_floats(op.kind);
  if (loops == nullptr) return {};
  return {{over_runs(call, threads, [=](const auto& for_each_run) {
    for_each_run([&](const Run& run) {
      chain->follow(run.count, run.y, run.y_step, [&](std::int64_t first, std::int64_t count) {
        loops({run.a + first * run.a_step, run.b + first * run.b_step, run.y + first * run.y_step, run.a_step,
               run.b_step, run.y_step, count});
      });
    });
  })}};
}

}  // namespace cohort::onednn
