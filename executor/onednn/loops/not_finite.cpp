#include "executor/onednn/loops/not_finite.hpp"

#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "models/compute/ops.hpp"

namespace cohort::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// Bits of +inf; those of a NaN are above them, but for the sign.
constexpr std::int32_t kInfinityBits = std::bit_cast<std::int32_t>(kInfinity);
constexpr std::int32_t kSign = std::numeric_limits<std::int32_t>::min();

/// Bits of what a tensor holds.
constexpr std::int32_t kTooLarge = 1, kNegativeInfinity = 2;

/// In whole numbers: the compiler does not vectorise comparisons of floats that may be NaN.
COHORT_INLINE std::int32_t found_in(float x, std::int32_t least_too_large) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t magnitude = bits & ~kSign;
  return (bits >= least_too_large ? kTooLarge : 0) | (magnitude > kInfinityBits ? kTooLarge : 0) |
         (bits == (kInfinityBits | kSign) ? kNegativeInfinity : 0);
}

/// `step` apart; a NaN is too large, +inf where `infinity` says so.
COHORT_VECTORS std::int32_t found_in(const float* x, std::int64_t step, std::int64_t count, bool infinity) {
  const std::int32_t least = infinity ? kInfinityBits : kInfinityBits + 1;
  std::int32_t found = 0;
  if (step == 1) {
#pragma omp simd reduction(| : found)
    for (std::int64_t i = 0; i < count; ++i) found |= found_in(x[i], least);
  } else {
    for (std::int64_t i = 0; i < count; ++i) found |= found_in(x[i * step], least);
  }
  return found;
}

/// Whether there is a row along the axis that holds nothing but -inf.
bool has_masked_row(const reference::ConstTensor& x, std::size_t axis) {
  Shape rows = x.shape;
  rows[axis] = 1;
  bool found = false;
  reference::for_each_index<1>(rows, {x.strides}, [&](const auto& at) {
    std::int64_t i = 0;
    while (i < x.shape[axis] && x.data[at[0] + i * x.strides[axis]] == -kInfinity) ++i;
    found = found || i == x.shape[axis];
  });
  return found;
}

}  // namespace

Loop compute_anew_where_lost(const OpCall& call, int threads) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  const View& y = call.outputs[0];
  if (x == nullptr || *x == y || !call.post_ops.empty()) return {};
  const bool infinity = std::holds_alternative<Softmax>(call.attributes);
  const StridedWalk<1> walk(x->shape, {x->strides});
  return [=, op = call.attributes, from = *x, to = y](const HostArguments& arguments) {
    const reference::ConstTensor input{arguments.inputs[0], from.shape, from.strides};
    std::atomic<std::int32_t> found = 0;
    in_parallel(threads, walk.elements(), 1, [&](std::int64_t begin, std::int64_t end) {
      walk.for_each_run(begin, end, [&](const auto& at, std::int64_t count) {
        found |= found_in(input.data + at[0], walk.run_steps()[0], count, infinity);
      });
    });
    const auto* const softmax = std::get_if<Softmax>(&op);
    const bool lost = (found & kTooLarge) != 0 || (softmax != nullptr && (found & kNegativeInfinity) != 0 &&
                                                   has_masked_row(input, static_cast<std::size_t>(softmax->axis)));
    if (!lost) return;
    const reference::Tensor output{arguments.outputs[0], to.shape, to.strides};
    std::visit([&](const auto& attributes) { reference::compute(attributes, {&input, 1}, output); }, op);
  };
}

}  // namespace cohort::onednn
