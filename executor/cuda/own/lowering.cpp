#include <type_traits>

#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda::own {
namespace {

KernelArguments kernel_of(const Gather& op, const OpCall& call, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const Tensor& indices = operands.inputs[1];
  const auto axis = static_cast<std::ptrdiff_t>(op.axis);
  GatherArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.extent = static_cast<std::int32_t>(x.shape[static_cast<std::size_t>(axis)]);
  kernel.axis_step = x.strides[static_cast<std::size_t>(axis)];
  kernel.x = x.data;
  kernel.indices = indices.data;
  kernel.y = operands.y;
  Shape of_x = x.strides;  // indices' dimensions stand where the axis was
  of_x.insert(of_x.erase(of_x.begin() + axis), indices.shape.size(), 0);
  Shape of_indices(x.shape.size() - 1, 0);
  of_indices.insert(of_indices.begin() + axis, indices.strides.begin(), indices.strides.end());
  kernel.x_strides = to_strides(of_x);
  kernel.index_strides = to_strides(of_indices);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

KernelArguments kernel_of(const LocalResponseNormalization& op, const OpCall& call, const Operands& operands) {
  LrnArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.size = static_cast<std::int32_t>(op.size);
  kernel.alpha = op.alpha;
  kernel.beta = op.beta;
  kernel.bias = op.bias;
  kernel.x = operands.inputs[0].data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(operands.inputs[0].strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.post = post_ops(call, operands);
  return kernel;
}

KernelArguments kernel_of(const Softmax& op, const OpCall& /*call*/, const Operands& operands) {
  const auto axis = static_cast<std::size_t>(op.axis);
  SoftmaxArguments kernel;
  kernel.type = operands.y_type;
  kernel.logarithm = op.logarithm;
  kernel.lanes = to_extents(reference::without(operands.y_shape, axis));
  kernel.length = static_cast<std::int32_t>(operands.y_shape[axis]);
  kernel.x_step = operands.inputs[0].strides[axis];
  kernel.y_step = operands.y_strides[axis];
  kernel.x = operands.inputs[0].data;
  kernel.y = operands.y;
  kernel.x_strides = to_strides(reference::without(operands.inputs[0].strides, axis));
  kernel.y_strides = to_strides(reference::without(operands.y_strides, axis));
  return kernel;
}

template <class Op, class... Ops>
constexpr bool is_one_of = (std::is_same_v<Op, Ops> || ...);
/// What map_kernels() makes: every element of the result by itself, from those of the inputs at its place.
template <class Op>
constexpr bool is_mapped = is_one_of<Op, Activation, BatchNormalization, Binary, Cast, Concat, Expand, Reshape, Select,
                                     TensorSlice, Transpose>;

}  // namespace

const void* advanced(const void* from, std::int64_t elements, DataType type) {
  return static_cast<const std::byte*>(from) + elements * element_bytes(type);
}

void* advanced(void* from, std::int64_t elements, DataType type) {
  return static_cast<std::byte*>(from) + elements * element_bytes(type);
}

Operands operands_of(const OpCall& call, const CallArguments& arguments, const std::vector<const void*>& constants) {
  Operands operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (const auto* const view = std::get_if<View>(&call.inputs[i])) {
      operands.inputs.push_back({arguments.inputs[i], view->shape, view->strides, view->type});
    } else {
      const auto& constant = std::get<WeightView>(call.inputs[i]);
      operands.inputs.push_back(
          {i < constants.size() ? constants[i] : nullptr, constant.shape, packed_strides(call, i), constant.type});
    }
  }
  operands.y = arguments.outputs[0];
  operands.y_shape = call.outputs[0].shape;
  operands.y_strides = call.outputs[0].strides;
  operands.y_type = call.outputs[0].type;
  operands.workspace = reinterpret_cast<float*>(arguments.workspace);
  operands.own_inputs = own_input_count(call);
  return operands;
}

Bytes workspace_of(const OpCall& call) {
  const std::int64_t values = std::visit(
      [&](const auto& op) -> std::int64_t {
        if constexpr (requires { workspace_values(op, call); }) {
          return workspace_values(op, call);
        } else {
          return 0;
        }
      },
      call.attributes);
  return Bytes{values * static_cast<std::int64_t>(sizeof(float))};
}

std::vector<KernelArguments> kernels_of(const OpCall& call, const Operands& operands) {
  if (element_count(operands.y_shape) == 0) return {};
  const Window* const window = window_of(call.attributes);
  if (window != nullptr && window->kernel.size() == 1) {
    OpCall plane = call;
    plane.attributes = as_plane(call.attributes);
    return kernels_of(plane, as_plane(operands));
  }
  std::vector<KernelArguments> kernels = std::visit(
      [&](const auto& op) -> std::vector<KernelArguments> {
        if constexpr (requires { kernels_of(op, call, operands); }) {
          return kernels_of(op, call, operands);
        } else if constexpr (requires { kernel_of(op, call, operands); }) {
          return {kernel_of(op, call, operands)};
        } else {
          static_assert(is_mapped<std::remove_cvref_t<decltype(op)>>,
                        "declare its kernel in lowering.hpp, or let map_kernels() make it");
          return map_kernels(call, operands);
        }
      },
      call.attributes);
  if (finishes_apart(call) && !call.post_ops.empty()) kernels.emplace_back(epilogue(call, operands, nullptr, 0));
  return kernels;
}

}  // namespace cohort::cuda::own
