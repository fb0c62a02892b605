#include "executor/onednn/windows.hpp"

#include <algorithm>
#include <utility>

#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// `models` stretches of `count` elements, `distance` apart, as one dense copy.
std::vector<Piece> stretches(std::int64_t models, std::int64_t distance, std::int64_t count) {
  std::vector<Piece> pieces;
  for (std::int64_t m = 0; m < models; ++m) pieces.push_back({m * distance, m * count, count});
  return pieces;
}

/// Rows split into groups, which get an axis of their own where there are several.
KernelView grouped(KernelView kernel, std::int64_t groups) {
  if (groups == 1) return kernel;
  kernel.shape[0] /= groups;
  kernel.strides.insert(kernel.strides.begin(), kernel.shape[0] * kernel.strides[0]);
  kernel.shape.insert(kernel.shape.begin(), groups);
  return kernel;
}

Shape tail(const Shape& shape) { return {shape.begin() + 1, shape.end()}; }

}  // namespace

dnnl::memory::dims skipped(const std::vector<std::int64_t>& dilation) {
  dnnl::memory::dims result = dilation;
  for (std::int64_t& value : result) --value;
  return result;
}

std::optional<KernelView> kernel_of(const OpCall& call, std::size_t operand, std::int64_t groups, std::size_t spatial) {
  const Shape& shape = shape_of(call.inputs[operand]);
  const auto* const view = std::get_if<View>(&call.inputs[operand]);
  const Shape strides = view != nullptr ? view->strides : dense_strides(shape, Layout::kNchw);
  if (shape.size() == spatial + 2) return grouped({shape, strides, {}}, groups);
  const std::int64_t models = shape[0];
  KernelView kernel{tail(shape), tail(strides), {}};
  if (models == 1) return grouped(kernel, groups);
  if (groups == models) {  // the model axis is the groups'
    kernel.shape.insert(kernel.shape.begin(), models);
    kernel.strides = strides;
    return kernel;
  }
  const std::int64_t count = element_count(kernel.shape);
  if (kernel.strides != dense_strides(kernel.shape, Layout::kNchw)) return std::nullopt;
  if (strides[0] != count) kernel.pieces = stretches(models, strides[0], count);
  kernel.shape[0] *= models;
  kernel.strides = dense_strides(kernel.shape, Layout::kNchw);
  return grouped(kernel, groups);
}

KernelView kernel_gradient(const View& pack, const Shape& shape, std::int64_t models) {
  KernelView kernel{shape, dense_strides(shape, Layout::kNchw), {}};
  if (models == 1) return kernel;
  const std::int64_t count = element_count(shape) / models, row = pack.strides[0];
  if (shape[0] == models) {
    kernel.strides[0] = row;
  } else if (row != count) {
    kernel.pieces = stretches(models, row, count);
  }
  return kernel;
}

Binding bind_bias(const OpCall& call, std::size_t operand) {
  const Shape& shape = shape_of(call.inputs[operand]);
  if (shape.size() == 1) return bind_input(DNNL_ARG_BIAS, operand, describe_input(call, operand));
  const std::int64_t count = shape[1];
  Binding bias = bind_input(DNNL_ARG_BIAS, operand, describe_dense({shape[0] * count}));
  const auto* const view = std::get_if<View>(&call.inputs[operand]);
  if (view != nullptr && shape[0] > 1 && view->strides[0] != count)
    bias.pieces = stretches(shape[0], view->strides[0], count);
  return bias;
}

}  // namespace cohort::onednn
