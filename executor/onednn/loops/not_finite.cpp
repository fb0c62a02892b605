#include "executor/onednn/loops/not_finite.hpp"

#include <atomic>
#include <cstdint>
#include <limits>

#include "executor/onednn/loops/parallel.hpp"
#include "executor/onednn/loops/strided_walk.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "models/compute/ops.hpp"

namespace cohort::onednn {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

/// Bits of what a tensor holds.
constexpr std::int32_t kTooLarge = 1, kNegativeInfinity = 2;

/// `step` apart; a NaN is too large, whatever the most that is allowed.
COHORT_VECTORS std::int32_t found_in(const float* x, std::int64_t step, std::int64_t count, float most) {
  std::int32_t found = 0;
  if (step == 1) {
#pragma omp simd reduction(| : found)
    for (std::int64_t i = 0; i < count; ++i)
      found |= (x[i] <= most ? 0 : kTooLarge) | (x[i] < -kLargest ? kNegativeInfinity : 0);
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      found |= (x[i * step] <= most ? 0 : kTooLarge) | (x[i * step] < -kLargest ? kNegativeInfinity : 0);
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

/// Whether a window held nothing but -inf: the library's maxima begin at the least finite number.
bool has_masked_window(const reference::Tensor& y) {
  bool found = false;
  reference::for_each_index<1>(y.shape, {y.strides},
                               [&](const auto& at) { found = found || y.data[at[0]] == -kLargest; });
  return found;
}

}  // namespace

Loop compute_anew_where_lost(const OpCall& call, int threads) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  const View& y = call.outputs[0];
  if (x == nullptr || *x == y || !call.post_ops.empty()) return {};
  const float most = std::holds_alternative<Softmax>(call.attributes) ? kLargest : kInfinity;
  const StridedWalk<1> walk(x->shape, {x->strides});
  return [=, op = call.attributes, from = *x, to = y](const HostArguments& arguments) {
    const reference::ConstTensor input{arguments.inputs[0], from.shape, from.strides};
    std::atomic<std::int32_t> found = 0;
    walk_in_parallel(walk, threads, [&](const auto& at, std::int64_t count) {
      found |= found_in(input.data + at[0], walk.run_steps()[0], count, most);
    });
    const reference::Tensor output{arguments.outputs[0], to.shape, to.strides};
    const auto* const softmax = std::get_if<Softmax>(&op);
    const auto is_masked = [&] {
      return softmax != nullptr ? has_masked_row(input, static_cast<std::size_t>(softmax->axis))
                                : has_masked_window(output);
    };
    if ((found & kTooLarge) == 0 && ((found & kNegativeInfinity) == 0 || !is_masked())) return;
    std::visit([&](const auto& attributes) { reference::compute(attributes, {&input, 1}, output); }, op);
  };
}

}  // namespace cohort::onednn
