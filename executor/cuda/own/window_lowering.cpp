// Convolutions and pooling.

#include "executor/cuda/own/lowering.hpp"

namespace cohort::cuda::own {
namespace {

/// What pooling and convolution have in common.
template <class Arguments>
void set_image(Arguments& kernel, const OpCall& call, const Window& window, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  kernel.type = operands.y_type;
  kernel.window = to_window(window);
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.height = static_cast<std::int32_t>(x.shape[2]);
  kernel.width = static_cast<std::int32_t>(x.shape[3]);
  kernel.channels_last = channels_last(operands.y_shape, operands.y_strides);
  kernel.x = x.data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(x.strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
}

/// Filters and bias, of one model or several; `output` and `input` are the filters' axes without the models'.
void set_parameters(ConvolutionArguments& kernel, const Operands& operands, std::size_t output, std::size_t input) {
  const Tensor& w = operands.inputs[1];
  const std::size_t lead = w.shape.size() == operands.y_shape.size() ? 0 : 1;
  const std::int64_t models = lead > 0 ? w.shape[0] : 1;
  kernel.model_outputs = static_cast<std::int32_t>(operands.y_shape[1] / models);
  kernel.w = w.data;
  kernel.w_model = lead > 0 ? w.strides[0] : 0;
  kernel.w_output = w.strides[lead + output];
  kernel.w_input = w.strides[lead + input];
  kernel.w_place = *place_step(w.shape, w.strides);
  if (operands.own_inputs < 3) return;
  kernel.bias = operands.inputs[2].data;
  kernel.bias_model = lead > 0 ? operands.inputs[2].strides[0] : 0;
  kernel.bias_output = operands.inputs[2].strides.back();
}

/// Groups of one model: `groups` are those of all models, or one model's where all share x.
std::int64_t model_groups(std::int64_t groups, std::int64_t models) {
  return groups % models == 0 ? groups / models : groups;
}

std::int64_t models_of(const Operands& operands) {
  const Shape& w = operands.inputs[1].shape;
  return w.size() == operands.y_shape.size() ? 1 : w[0];
}

void insert_dimension(Shape& shape, Shape& strides) {
  shape.insert(shape.begin() + 2, 1);
  strides.insert(strides.begin() + 2, 0);
}

void widen(Window& window) {
  for (auto* const each : {&window.kernel, &window.stride, &window.dilation}) each->insert(each->begin(), 1);
  for (auto* const each : {&window.pad_begin, &window.pad_end}) each->insert(each->begin(), 0);
}

}  // namespace

bool channels_last(const Shape& shape, const Shape& strides) { return shape[1] > 1 && strides[1] == 1; }

Window2 to_window(const Window& window) {
  Window2 result;
  const auto put = [](const std::vector<std::int64_t>& values, std::int32_t* to) {
    for (std::size_t d = 0; d < 2; ++d) to[d] = static_cast<std::int32_t>(values[d]);
  };
  put(window.kernel, result.kernel);
  put(window.stride, result.stride);
  put(window.pad_begin, result.pad);
  put(window.dilation, result.dilation);
  return result;
}

std::optional<std::int64_t> place_step(const Shape& shape, const Shape& strides) {
  const std::size_t last = shape.size() - 1;
  if (shape[last] == 1) return strides[last - 1];
  if (last < 3 || shape[last - 1] == 1 || strides[last - 1] == shape[last] * strides[last]) return strides[last];
  return std::nullopt;
}

KernelArguments kernel_of(const Convolution& op, const OpCall& call, const Operands& operands) {
  ConvolutionArguments kernel;
  set_image(kernel, call, op.window, operands);
  set_parameters(kernel, operands, 0, 1);
  const std::int64_t models = models_of(operands);
  const bool shared = op.groups % models != 0;
  const Shape& w = operands.inputs[1].shape;
  kernel.group_inputs = static_cast<std::int32_t>(w[w.size() - 3]);
  kernel.group_outputs = static_cast<std::int32_t>(kernel.model_outputs / model_groups(op.groups, models));
  kernel.model_inputs = static_cast<std::int32_t>(shared || models == 1 ? 0 : operands.inputs[0].shape[1] / models);
  return kernel;
}

KernelArguments kernel_of(const ConvTranspose& op, const OpCall& call, const Operands& operands) {
  ConvTransposeArguments kernel;
  set_image(kernel, call, op.window, operands);
  set_parameters(kernel, operands, 1, 0);
  const std::int64_t models = models_of(operands);
  const bool shared = op.groups % models != 0;
  const std::int64_t inputs = operands.inputs[0].shape[1] / (shared ? 1 : models);
  kernel.group_inputs = static_cast<std::int32_t>(inputs / model_groups(op.groups, models));
  kernel.group_outputs = static_cast<std::int32_t>(kernel.model_outputs / model_groups(op.groups, models));
  kernel.model_inputs = static_cast<std::int32_t>(shared || models == 1 ? 0 : inputs);
  return kernel;
}

KernelArguments kernel_of(const MaxPoolIndices& op, const OpCall& call, const Operands& operands) {
  MaxIndexArguments kernel;
  set_image(kernel, call, op.window, operands);
  kernel.type = operands.inputs[0].type;
  kernel.column_major = op.column_major;
  return kernel;
}

KernelArguments kernel_of(const Pool& op, const OpCall& call, const Operands& operands) {
  PoolArguments kernel;
  set_image(kernel, call, op.window, operands);
  for (std::size_t d = 0; d < 2; ++d) kernel.pad_end[d] = static_cast<std::int32_t>(op.window.pad_end[d]);
  kernel.average = op.kind == PoolKind::kAverage;
  kernel.count_include_pad = op.count_include_pad;
  return kernel;
}

const Window* window_of(const OpAttributes& attributes) {
  return std::visit(
      [](const auto& op) -> const Window* {
        if constexpr (requires { op.window; }) {
          return &op.window;
        } else if constexpr (requires { op.pool.window; }) {
          return &op.pool.window;
        } else {
          return nullptr;
        }
      },
      attributes);
}

OpAttributes as_plane(OpAttributes attributes) {
  std::visit(
      [](auto& op) {
        if constexpr (requires { op.window; }) {
          widen(op.window);
        } else if constexpr (requires { op.pool.window; }) {
          widen(op.pool.window);
          op.extents.insert(op.extents.begin(), 1);
        }
      },
      attributes);
  return attributes;
}

Operands as_plane(Operands operands) {
  for (Tensor& tensor : operands.inputs) {
    if (tensor.shape.size() == 3) insert_dimension(tensor.shape, tensor.strides);
  }
  if (operands.y_shape.size() == 3) insert_dimension(operands.y_shape, operands.y_strides);
  return operands;
}

}  // namespace cohort::cuda::own
