#include "executor/cuda/own/lowering.hpp"

namespace cohort::cuda::own {
namespace {

/// Strides by the index of an output of `rank` dimensions whose last two are a matrix's: `row` or `column` of
/// the operand is 0 where it does not have that axis.
Strides matrix_strides(const Tensor& x, const Shape& y_shape, std::int64_t row, std::int64_t column) {
  const std::size_t rank = y_shape.size();
  const std::size_t missing = rank - x.shape.size();
  Strides strides;
  for (std::size_t d = 0; d + 2 < x.shape.size(); ++d) strides.of[missing + d] = x.shape[d] == 1 ? 0 : x.strides[d];
  strides.of[rank - 2] = row;
  strides.of[rank - 1] = column;
  return strides;
}

Shape part(const Shape& values, std::size_t from, std::size_t to) {
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)};
}

/// Fewer dimensions, where they lie behind each other, and the closest in memory last.
void join_dimensions(LayerNormArguments& kernel, const Shape& rows, const Shape& inner) {
  kernel.rows = simplify({&kernel.y_rows, &kernel.x_rows, &kernel.scale_rows, &kernel.shift_rows}, rows);
  kernel.inner = simplify({&kernel.y_inner, &kernel.x_inner, &kernel.scale_inner, &kernel.shift_inner}, inner);
}

/// What the kernels of recurrent layers have in common: x [T, N, I], y [T, ..., N, H] with the samples in dimension
/// `samples`.
template <class Arguments>
Arguments recurrent(std::int64_t hidden, const Operands& operands, std::size_t samples) {
  const Tensor& x = operands.inputs[0];
  Arguments kernel;
  kernel.type = operands.y_type;
  kernel.steps = static_cast<std::int32_t>(x.shape[0]);
  kernel.samples = static_cast<std::int32_t>(x.shape[1]);
  kernel.inputs = static_cast<std::int32_t>(x.shape[2]);
  kernel.hidden = static_cast<std::int32_t>(hidden);
  kernel.x = x.data;
  kernel.w = operands.inputs[1].data;
  kernel.r = operands.inputs[2].data;
  kernel.bias = operands.own_inputs > 3 ? operands.inputs[3].data : nullptr;
  kernel.y = operands.y;
  kernel.x_step = x.strides[0];
  kernel.x_sample = x.strides[1];
  kernel.x_input = x.strides[2];
  kernel.y_step = operands.y_strides[0];
  kernel.y_sample = operands.y_strides[samples];
  kernel.y_hidden = operands.y_strides[samples + 1];
  const auto last_two = [&](std::size_t input, std::int64_t& row, std::int64_t& column) {
    const Shape& strides = operands.inputs[input].strides;
    row = strides[strides.size() - 2];
    column = strides.back();
  };
  last_two(1, kernel.w_row, kernel.w_input);
  last_two(2, kernel.r_row, kernel.r_input);
  return kernel;
}

}  // namespace

KernelArguments kernel_of(const MatMul& op, const OpCall& call, const Operands& operands) {
  const Tensor& a = operands.inputs[0];
  const Tensor& b = operands.inputs[1];
  const std::int64_t* const a_last = &a.strides[a.strides.size() - 2];
  const std::int64_t* const b_last = &b.strides[b.strides.size() - 2];
  MatMulArguments kernel;
  kernel.type = operands.y_type;
  kernel.y_shape = to_extents(operands.y_shape);
  kernel.inner = static_cast<std::int32_t>(a.shape[a.shape.size() - (op.transpose_a ? 2 : 1)]);
  kernel.a = a.data;
  kernel.b = b.data;
  kernel.y = operands.y;
  kernel.a_strides = matrix_strides(a, operands.y_shape, a_last[op.transpose_a ? 1 : 0], 0);
  kernel.b_strides = matrix_strides(b, operands.y_shape, 0, b_last[op.transpose_b ? 0 : 1]);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.a_inner = a_last[op.transpose_a ? 0 : 1];
  kernel.b_inner = b_last[op.transpose_b ? 1 : 0];
  kernel.post = post_ops(call, operands);
  return kernel;
}

KernelArguments kernel_of(const LayerNormalization& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::size_t rank = x.shape.size();
  const Shape scale = broadcast(operands.inputs[1], x.shape);
  LayerNormArguments kernel;
  kernel.type = operands.y_type;
  kernel.epsilon = op.epsilon;
  kernel.centred = op.centred;
  kernel.x = x.data;
  kernel.scale = operands.inputs[1].data;
  kernel.y = operands.y;
  kernel.x_rows = to_strides(part(x.strides, 0, axis));
  kernel.y_rows = to_strides(part(operands.y_strides, 0, axis));
  kernel.scale_rows = to_strides(part(scale, 0, axis));
  kernel.x_inner = to_strides(part(x.strides, axis, rank));
  kernel.y_inner = to_strides(part(operands.y_strides, axis, rank));
  kernel.scale_inner = to_strides(part(scale, axis, rank));
  if (operands.own_inputs > 2) {
    const Shape shift = broadcast(operands.inputs[2], x.shape);
    kernel.shift = operands.inputs[2].data;
    kernel.shift_rows = to_strides(part(shift, 0, axis));
    kernel.shift_inner = to_strides(part(shift, axis, rank));
  }
  join_dimensions(kernel, part(x.shape, 0, axis), part(x.shape, axis, rank));
  return kernel;
}

/// A row is a sample's group: x [N, C, ...] seen as [N, groups, C/groups, ...].
KernelArguments kernel_of(const GroupNormalization& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const std::size_t rank = x.shape.size();
  const std::int64_t channels = x.shape[1] / op.groups;
  const auto rows = [&](const Shape& strides) { return to_strides({strides[0], strides[1] * channels}); };
  const auto inner = [&](const Shape& strides) { return to_strides(part(strides, 1, rank)); };
  // By channel or by group, whatever the sample and the position.
  const auto parameter = [&](const Tensor& values) {
    Shape strides(rank, 0);
    if (values.shape[0] == x.shape[1]) strides[1] = values.strides[0];
    return strides;
  };
  const auto parameter_rows = [&](const Tensor& values) {
    const bool by_channel = values.shape[0] == x.shape[1];
    return to_strides({0, by_channel ? values.strides[0] * channels : values.strides[0]});
  };
  LayerNormArguments kernel;
  kernel.type = operands.y_type;
  kernel.epsilon = op.epsilon;
  kernel.x = x.data;
  kernel.scale = operands.inputs[1].data;
  kernel.shift = operands.inputs[2].data;
  kernel.y = operands.y;
  kernel.x_rows = rows(x.strides);
  kernel.y_rows = rows(operands.y_strides);
  kernel.scale_rows = parameter_rows(operands.inputs[1]);
  kernel.shift_rows = parameter_rows(operands.inputs[2]);
  kernel.x_inner = inner(x.strides);
  kernel.y_inner = inner(operands.y_strides);
  kernel.scale_inner = inner(parameter(operands.inputs[1]));
  kernel.shift_inner = inner(parameter(operands.inputs[2]));
  Shape group = part(x.shape, 1, rank);
  group[0] = channels;
  join_dimensions(kernel, {x.shape[0], op.groups}, group);
  return kernel;
}

std::int64_t workspace_values(const Lstm& op, const OpCall& call) { return call.outputs[0].shape[1] * op.hidden; }

KernelArguments kernel_of(const Lstm& op, const OpCall& /*call*/, const Operands& operands) {
  auto kernel = recurrent<LstmArguments>(op.hidden, operands, 1);
  kernel.cell = operands.workspace;
  return kernel;
}

/// y has a dimension for directions before the samples.
KernelArguments kernel_of(const Recurrent& op, const OpCall& /*call*/, const Operands& operands) {
  return recurrent<GruArguments>(op.hidden, operands, 2);
}

bool has_kernel(const Recurrent& op) {
  return op.cell == RecurrentCell::kGru && op.linear_before_reset && op.direction == Direction::kForward &&
         op.gates.empty() && op.clip == 0 && !op.has_lengths && !op.has_state && !op.final_state;
}

Tensor rearranged(const Transpose& op, const Tensor& x) {
  Tensor result{x.data, {}, {}, x.type};
  for (const std::int64_t axis : op.permutation) {
    result.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    result.strides.push_back(x.strides[static_cast<std::size_t>(axis)]);
  }
  return result;
}

Tensor rearranged(const TensorSlice& op, const Tensor& x) {
  Tensor result{x.data, op.count, x.strides, x.type};
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    result.data = advanced(result.data, op.start[d] * x.strides[d], x.type);
    result.strides[d] *= op.step[d];
  }
  return result;
}

}  // namespace cohort::cuda::own
