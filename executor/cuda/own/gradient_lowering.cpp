// Gradients of convolutions, products, pooling, and of ops that move elements.

#include <algorithm>

#include "executor/cuda/own/grid.hpp"
#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/op_training.hpp"

namespace cohort::cuda::own {
namespace {

std::int32_t count(std::int64_t value) { return static_cast<std::int32_t>(value); }
const float* data_of(const Tensor& tensor) { return static_cast<const float*>(tensor.data); }

/// Of what is [size] or, with models, [M, size].
PackPlaces pack_places(const Operands& operands, std::int64_t weights, std::optional<std::int64_t> bias,
                       std::int64_t first, bool bias_is_there) {
  PackPlaces places;
  places.data = static_cast<float*>(operands.y);
  places.model = operands.y_shape.size() > 1 ? operands.y_strides[0] : 0;
  places.step = operands.y_strides.back();
  places.first = count(first);
  places.size = count(operands.y_shape.back());
  places.weights = count(weights);
  places.bias_is_there = bias_is_there;
  if (!bias) return places;
  places.bias = count(pack_place(weights));
  places.bias_end = count(pack_place(weights) + *bias);
  return places;
}

/// Whether the values of a sample lie dense, in logical order.
bool is_logical(const Shape& shape, const Shape& strides, std::size_t first) {
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > first;) {
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

/// Strides of a tensor's elements as input `input` of a call has them.
const Shape& strides_of(const OpCall& call, std::size_t input, Shape& row_major) {
  if (const auto* const view = std::get_if<View>(&call.inputs[input])) return view->strides;
  row_major = reference::row_major_strides(shape_of(call.inputs[input]));
  return row_major;
}

}  // namespace

// ---- Products

std::int64_t product_row_values(const Shape& shape, const Shape& strides, bool stacked) {
  if (is_logical(shape, strides, stacked ? 2 : 1)) return 0;
  const bool repeats = stacked && strides[0] == 0;
  return element_count(shape) / (repeats ? shape[0] : 1);
}

ProductRows product_rows(const Tensor& x, bool stacked, float* workspace) {
  const std::size_t sample = stacked ? 1 : 0;
  ProductRows rows{x.data, stacked ? x.strides[0] : 0, x.strides[sample], {}};
  if (product_row_values(x.shape, x.strides, stacked) == 0) return rows;
  Tensor from = x;
  if (stacked && x.strides[0] == 0) from.shape[0] = 1;
  const Shape dense = reference::row_major_strides(from.shape);
  rows.data = workspace;
  rows.copying = copy_of(from, workspace, dense);
  rows.model = stacked && x.strides[0] != 0 ? dense[0] : 0;
  rows.sample = dense[sample];
  return rows;
}

bool takes_samples(const OpCall& call) {
  const auto* const gemm = std::get_if<Gemm>(&call.attributes);
  if (gemm == nullptr || std::holds_alternative<View>(call.inputs[1])) return true;
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  return x == nullptr || !memory_order(*x, gemm->stacked ? 2 : 1).empty();
}

std::int64_t workspace_values(const Gemm& op, const OpCall& call) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || !std::holds_alternative<View>(call.inputs[1])) return 0;
  return (product_row_values(x->shape, x->strides, op.stacked) * element_bytes(x->type) + 3) / 4;
}

/// Columns of weights that are computed are in logical order; constants have the order of x's memory.
std::vector<KernelArguments> kernels_of(const Gemm& op, const OpCall& call, const Operands& operands) {
  const Tensor &x = operands.inputs[0], &w = operands.inputs[1];
  const std::size_t lead = op.stacked ? 1 : 0;
  GemmArguments kernel;
  kernel.type = operands.y_type;
  kernel.batch = op.stacked ? count(operands.y_shape[0]) : 1;
  kernel.rows = count(operands.y_shape[lead]);
  kernel.columns = count(operands.y_shape[lead + 1]);
  kernel.inner = count(w.shape[lead + 1]);
  ProductRows rows{x.data, op.stacked ? x.strides[0] : 0, x.strides[lead], {}};
  if (std::holds_alternative<View>(call.inputs[1])) rows = product_rows(x, op.stacked, operands.workspace);
  kernel.x = rows.data;
  kernel.x_batch = rows.model;
  kernel.x_row = rows.sample;
  kernel.w = w.data;
  kernel.w_batch = op.stacked ? w.strides[0] : 0;
  kernel.w_row = w.strides[lead];
  if (own_input_count(call) > 2) {
    kernel.bias = operands.inputs[2].data;
    kernel.bias_batch = op.stacked ? operands.inputs[2].strides[0] : 0;
    kernel.bias_column = operands.inputs[2].strides.back();
  }
  kernel.y = operands.y;
  kernel.y_batch = op.stacked ? operands.y_strides[0] : 0;
  kernel.y_row = operands.y_strides[lead];
  kernel.y_column = operands.y_strides[lead + 1];
  kernel.post = post_ops(call, operands);
  for (int i = 0; !op.stacked && i < kernel.post.count; ++i) {  // the kernel's index has the models first
    Strides& strides = kernel.post.of[i].strides;
    strides = {{0, strides.of[0], strides.of[1]}};
  }
  if (!rows.copying) return {kernel};
  return {*rows.copying, kernel};
}

ProductGradientArguments product_gradient(const GemmWeightGradient& op, const Operands& operands,
                                          const ProductRows& rows, std::int64_t first, bool bias_is_there) {
  const Tensor& dy = operands.inputs[1];
  const std::size_t lead = op.stacked ? 1 : 0;
  ProductGradientArguments kernel;
  kernel.models = op.stacked ? count(dy.shape[0]) : 1;
  kernel.samples = count(dy.shape[lead]);
  kernel.inputs = count(element_count(operands.inputs[0].shape) / (std::int64_t{kernel.models} * kernel.samples));
  kernel.x = static_cast<const float*>(rows.data);
  kernel.x_model = rows.model;
  kernel.x_sample = rows.sample;
  kernel.dy = data_of(dy);
  kernel.dy_model = op.stacked ? dy.strides[0] : 0;
  kernel.dy_sample = dy.strides[lead];
  kernel.dy_output = dy.strides[lead + 1];
  const std::int64_t outputs = dy.shape[lead + 1];
  kernel.pack = pack_places(operands, outputs * kernel.inputs, op.bias ? std::optional(outputs) : std::nullopt, first,
                            bias_is_there);
  return kernel;
}

std::int64_t workspace_values(const GemmWeightGradient& op, const OpCall& call) {
  Shape row_major;
  return product_row_values(shape_of(call.inputs[0]), strides_of(call, 0, row_major), op.stacked);
}

std::vector<KernelArguments> kernels_of(const GemmWeightGradient& op, const OpCall& /*call*/,
                                        const Operands& operands) {
  const ProductRows rows = product_rows(operands.inputs[0], op.stacked, operands.workspace);
  const ProductGradientArguments kernel = product_gradient(op, operands, rows, 0, false);
  if (!rows.copying) return {kernel};
  return {*rows.copying, kernel};
}

// ---- Windows

FilterGradientArguments filter_gradient(const ConvolutionWeightGradient& op, const Operands& operands,
                                        std::int64_t first, bool bias_is_there) {
  const Tensor &x = operands.inputs[0], &dy = operands.inputs[1];
  const std::int64_t inputs = op.shared_input ? x.shape[1] : x.shape[1] / op.models;
  FilterGradientArguments kernel;
  kernel.models = count(op.models);
  kernel.outputs = count(dy.shape[1] / op.models);
  kernel.group_outputs = count(kernel.outputs / op.groups);
  kernel.channels = count(inputs / op.groups);
  kernel.model_inputs = op.shared_input ? 0 : count(inputs);
  kernel.window = to_window(op.window);
  kernel.height = count(x.shape[2]);
  kernel.width = count(x.shape[3]);
  kernel.positions = to_extents({dy.shape[0], dy.shape[2], dy.shape[3]});
  kernel.x = data_of(x);
  kernel.dy = data_of(dy);
  kernel.x_strides = to_strides(x.strides);
  kernel.dy_strides = to_strides(dy.strides);
  const std::int64_t weights = std::int64_t{kernel.outputs} * kernel.channels * element_count(op.window.kernel);
  kernel.pack = pack_places(operands, weights, op.bias ? std::optional<std::int64_t>(kernel.outputs) : std::nullopt,
                            first, bias_is_there);
  kernel.threads = std::max(team_for(kernel.positions.count), kWarp);
  return kernel;
}

KernelArguments kernel_of(const ConvolutionWeightGradient& op, const OpCall& /*call*/, const Operands& operands) {
  return filter_gradient(op, operands, 0, false);
}

KernelArguments kernel_of(const PoolGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& dy = operands.inputs[0];
  PoolGradientArguments kernel;
  kernel.window = to_window(op.pool.window);
  for (std::size_t d = 0; d < 2; ++d) kernel.pad_end[d] = count(op.pool.window.pad_end[d]);
  kernel.shape = to_extents(operands.y_shape);
  kernel.rows = count(dy.shape[2]);
  kernel.columns = count(dy.shape[3]);
  kernel.average = op.pool.kind == PoolKind::kAverage;
  kernel.count_include_pad = op.pool.count_include_pad;
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  kernel.dy = data_of(dy);
  kernel.dx = static_cast<float*>(operands.y);
  kernel.dy_strides = to_strides(dy.strides);
  kernel.dx_strides = to_strides(operands.y_strides);
  if (kernel.average) return kernel;
  kernel.x = data_of(operands.inputs[1]);
  kernel.x_strides = to_strides(operands.inputs[1].strides);
  return kernel;
}

// ---- What moves elements

std::vector<KernelArguments> kernels_of(const Pack& op, const OpCall& /*call*/, const Operands& operands) {
  const std::int64_t step = operands.y_strides[0];
  std::vector<std::pair<std::int64_t, std::int64_t>> taken;  // begin, end
  std::vector<KernelArguments> kernels;
  for (std::size_t i = 0; i < operands.inputs.size(); ++i) {
    const Tensor& part = operands.inputs[i];
    Shape strides = reference::row_major_strides(part.shape);
    for (std::int64_t& each : strides) each *= step;
    kernels.emplace_back(copy_of(part, static_cast<float*>(operands.y) + op.offsets[i] * step, strides));
    taken.emplace_back(op.offsets[i], op.offsets[i] + element_count(part.shape));
  }
  std::sort(taken.begin(), taken.end());
  taken.emplace_back(op.size, op.size);
  std::int64_t next = 0;
  for (const auto& [begin, end] : taken) {
    if (begin > next) kernels.push_back(zeros(static_cast<float*>(operands.y) + next * step, {begin - next}, {step}));
    next = end;
  }
  return kernels;
}

KernelArguments kernel_of(const Unpack& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  Tensor part{data_of(x) + op.offset * x.strides.back(), op.shape, reference::row_major_strides(op.shape), x.type};
  for (std::int64_t& each : part.strides) each *= x.strides.back();
  return copy_of(part, operands.y, operands.y_strides);
}

std::vector<KernelArguments> kernels_of(const GatherGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor &indices = operands.inputs[0], &dy = operands.inputs[1];
  const auto axis = static_cast<std::size_t>(op.axis);
  const auto first = dy.strides.begin() + op.axis;
  const auto behind = first + static_cast<std::ptrdiff_t>(indices.shape.size());
  GatherGradientArguments kernel;
  kernel.threads = kWarp;
  kernel.indices_shape = to_extents(indices.shape);
  kernel.extent = count(op.extent);
  kernel.indices = data_of(indices);
  kernel.dy = data_of(dy);
  kernel.dx = static_cast<float*>(operands.y);
  kernel.dx_axis = operands.y_strides[axis];
  kernel.index_strides = to_strides(indices.strides);
  kernel.dy_index = to_strides({first, behind});
  Shape rest = dy.strides;
  rest.erase(rest.begin() + op.axis, rest.begin() + op.axis + static_cast<std::ptrdiff_t>(indices.shape.size()));
  kernel.dy_rest = to_strides(rest);
  kernel.dx_rest = to_strides(reference::without(operands.y_strides, axis));
  kernel.rest = simplify({&kernel.dx_rest, &kernel.dy_rest}, reference::without(operands.y_shape, axis));
  return {zeros(operands.y, operands.y_shape, operands.y_strides), kernel};
}

std::vector<KernelArguments> kernels_of(const TensorSliceGradient& op, const OpCall& /*call*/,
                                        const Operands& operands) {
  const Tensor& dy = operands.inputs[0];
  std::int64_t place = 0;
  Shape strides = operands.y_strides;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    place += op.start[d] * strides[d];
    strides[d] *= op.step[d];
  }
  std::vector<KernelArguments> kernels{zeros(operands.y, operands.y_shape, operands.y_strides)};
  if (element_count(dy.shape) > 0) kernels.emplace_back(copy_of(dy, static_cast<float*>(operands.y) + place, strides));
  return kernels;
}

}  // namespace cohort::cuda::own
