// The smaller or the larger of two: the library's kernels give the second where the first is a NaN.

#include <algorithm>

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
  } else {
    for (std::int64_t i = 0; i < r.count; ++i) r.y[i * r.y_step] = function(r.a[i * r.a_step], r.b[i * r.b_step]);
  }
}

COHORT_VECTORS void smaller(const Run& r) {
  combine(r, [](float a, float b) { return a != a || a < b ? a : b; });
}
COHORT_VECTORS void larger(const Run& r) {
  combine(r, [](float a, float b) { return a != a || a > b ? a : b; });
}

}  // namespace

OwnWays own_ways(const Binary& op, const OpCall& call, int threads) {
  const bool is_extreme = op.kind == BinaryKind::kMin || op.kind == BinaryKind::kMax;
  if (!is_extreme || op.element != ElementType::kFloat32 || !call.post_ops.empty()) return {};
  const View& y = call.outputs[0];
  const auto repeated = [&](std::size_t input) {
    const View view = view_of(call, input);
    return reference::broadcast_strides(view.shape, view.strides, y.shape);
  };
  const StridedWalk<3> walk(y.shape, {y.strides, repeated(0), repeated(1)});
  // Which of the two repeats makes no difference.
  const bool swaps = walk.run_steps()[1] == 0;
  const std::size_t first = swaps ? 1 : 0, second = 1 - first;
  const auto steps = walk.run_steps();
  return {{[=, is_min = op.kind == BinaryKind::kMin](const HostArguments& arguments) {
    in_parallel(threads, walk.elements(), 1, [&](std::int64_t begin, std::int64_t end) {
      walk.for_each_run(begin, end, [&](const auto& at, std::int64_t count) {
        const Run run{arguments.inputs[first] + at[first + 1],
                      arguments.inputs[second] + at[second + 1],
                      arguments.outputs[0] + at[0],
                      steps[first + 1],
                      steps[second + 1],
                      steps[0],
                      count};
        is_min ? smaller(run) : larger(run);
      });
    });
  }}};
}

}  // namespace cohort::onednn
