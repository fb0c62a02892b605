#include <numeric>

#include "models/onnx/converters.hpp"

// Pools by a p-norm: the sum of the sizes to the power of p, and of that the root.

namespace cohort::onnx {

namespace {

Result<float> order_of_norm(NodeImport& node) {
  COHORT_TRY(const std::int64_t order, node.integer("p", 2));
  if (order > 0) return static_cast<float>(order);
  return fail(ErrorCode::kInvalidInput, "attribute p must be above 0, not {}", order);
}

Result<TensorId> powers(NodeImport& node, TensorId x, float order) {
  if (order == 2) return binary(node, "power", BinaryKind::kMul, x, x);
  COHORT_TRY(const TensorId size, node.emit("size", Activation{ActivationKind::kAbs}, {x}));
  return order == 1 ? size : binary(node, "power", BinaryKind::kPow, size, node.scalar("order", order));
}

Result<TensorId> root(NodeImport& node, TensorId x, float order) {
  if (order == 1) return x;
  if (order == 2) return node.emit("", Activation{ActivationKind::kSqrt}, {x});
  return binary(node, "", BinaryKind::kPow, x, node.scalar("inverse", 1 / order));
}

/// With ceil_mode the last window may reach beyond the pads: they grow, so that it is one like the others.
void pad_to_last_window(Window& window, const Shape& x) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::int64_t reach = window.dilation[i] * (window.kernel[i] - 1) + 1;
    const std::int64_t room = x[i + 2] + window.pad_begin[i] + window.pad_end[i] - reach;
    const std::int64_t missing = (window.stride[i] - room % window.stride[i]) % window.stride[i];
    // A window that begins behind the image is none.
    const bool begins_inside = room + missing < x[i + 2] + window.pad_begin[i];
    if (room > -window.stride[i] && begins_inside) window.pad_end[i] += missing;
  }
}

}  // namespace

/// The sum is the mean times the elements of a window, pads among them.
Result<void> convert_lp_pool(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const float order, order_of_norm(node));
  Pool pool{PoolKind::kAverage, {}, false, true};
  COHORT_TRY(pool.window, window_of(node, shape, {}));
  COHORT_TRY(const std::int64_t ceil_mode, node.integer("ceil_mode", 0));
  if (ceil_mode != 0) pad_to_last_window(pool.window, shape);
  float count = 1;
  for (const std::int64_t extent : pool.window.kernel) count *= static_cast<float>(extent);
  COHORT_TRY(TensorId y, node.tensor(0));
  COHORT_TRY(y, powers(node, y, order));
  COHORT_TRY(y, node.emit("mean", std::move(pool), {y}));
  COHORT_TRY(y, binary(node, order == 1 ? "" : "sum", BinaryKind::kMul, y, node.scalar("count", count)));
  COHORT_TRY(y, root(node, y, order));
  node.set_result(y);
  return {};
}

Result<void> convert_global_lp_pool(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  if (shape.size() < 3) return fail(ErrorCode::kInvalidInput, "is supported on [N, C, ...], not {}", to_string(shape));
  COHORT_TRY(const float order, order_of_norm(node));
  Reduce sum{ReduceKind::kSum, std::vector<std::int64_t>(shape.size() - 2), true};
  std::iota(sum.axes.begin(), sum.axes.end(), 2);
  COHORT_TRY(TensorId y, node.tensor(0));
  COHORT_TRY(y, powers(node, y, order));
  COHORT_TRY(y, node.emit(order == 1 ? "" : "sum", std::move(sum), {y}));
  COHORT_TRY(y, root(node, y, order));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
