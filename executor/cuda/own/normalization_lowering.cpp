// Normalisations in training: by the statistics of what they read, and their gradients.

#include "executor/cuda/own/training_lowering.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"
#include "models/op_training.hpp"

namespace cohort::cuda::own {
namespace {

const float* values_of(const Tensor& tensor) { return static_cast<const float*>(tensor.data); }

Shape axes(const Shape& values, std::size_t from, std::size_t to) {
  return {values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)};
}
Shape axes_from(const Shape& values, std::size_t from) { return axes(values, from, values.size()); }

/// Entry i of `vector`, whose entries lie `step` apart from `first` on, for channel i.
PerElement per_channel(const Tensor& vector, std::int64_t first, std::int64_t step) {
  PerElement result;
  result.values = values_of(vector) + first;
  result.strides.of[1] = step;
  return result;
}
PerElement per_channel(const Tensor& vector) { return per_channel(vector, 0, vector.strides[0]); }

/// Of statistics [2, C].
PerElement means(const Tensor& statistics) { return per_channel(statistics, 0, statistics.strides[1]); }
PerElement variances(const Tensor& statistics) {
  return per_channel(statistics, statistics.strides[0], statistics.strides[1]);
}

/// A tensor [N, groups, C/groups, ...] where x is [N, C, ...].
Tensor grouped(const Tensor& x, std::int64_t groups) {
  Tensor result = x;
  const std::int64_t channels = x.shape[1] / groups;
  result.shape[1] = channels;
  result.shape.insert(result.shape.begin() + 1, groups);
  result.strides.insert(result.strides.begin() + 1, x.strides[1] * channels);
  return result;
}

/// Mean and variance of each row, dense in the workspace, of which the first dimensions of x are the rows.
StatisticsArguments row_statistics(const Tensor& x, std::size_t axis, float* workspace) {
  const Shape rows = axes(x.shape, 0, axis);
  const Strides places = to_strides(reference::row_major_strides(rows));
  StatisticsArguments kernel;
  kernel.lanes = to_extents(rows);
  kernel.x = values_of(x);
  kernel.x_lanes = to_strides(axes(x.strides, 0, axis));
  kernel.x_inner = to_strides(axes_from(x.strides, axis));
  kernel.mean = workspace;
  kernel.variance = workspace + element_count(rows);
  kernel.mean_lanes = kernel.variance_lanes = places;
  kernel.inner = simplify({&kernel.x_inner}, axes_from(x.shape, axis));
  kernel.threads = team_for(kernel.inner.count);
  return kernel;
}

/// An element's place among those of x: by which dimensions an entry of the parameters is found, and which it is
/// summed over.
struct Split {
  std::vector<std::size_t> lanes, inner;
};
Shape pick(const Shape& values, const std::vector<std::size_t>& dimensions) {
  Shape picked;
  for (const std::size_t d : dimensions) picked.push_back(values[d]);
  return picked;
}

/// Mean and variance with strides by the dimensions of x.
struct RowMoments {
  const float *mean = nullptr, *variance = nullptr;
  Shape strides;
};

NormalizationSumsArguments sums(const Tensor& x, const Tensor& dy, const RowMoments& moments, const Split& split,
                                const Operands& operands) {
  NormalizationSumsArguments kernel;
  kernel.lanes = to_extents(pick(x.shape, split.lanes));
  kernel.x = values_of(x);
  kernel.dy = values_of(dy);
  kernel.mean = moments.mean;
  kernel.variance = moments.variance;
  kernel.x_lanes = to_strides(pick(x.strides, split.lanes));
  kernel.dy_lanes = to_strides(pick(dy.strides, split.lanes));
  kernel.mean_lanes = kernel.variance_lanes = to_strides(pick(moments.strides, split.lanes));
  kernel.x_inner = to_strides(pick(x.strides, split.inner));
  kernel.dy_inner = to_strides(pick(dy.strides, split.inner));
  kernel.mean_inner = kernel.variance_inner = to_strides(pick(moments.strides, split.inner));
  kernel.inner = simplify({&kernel.x_inner, &kernel.dy_inner, &kernel.mean_inner, &kernel.variance_inner},
                          pick(x.shape, split.inner));
  kernel.threads = team_for(kernel.inner.count);
  kernel.pack = static_cast<float*>(operands.y);
  kernel.pack_step = operands.y_strides[0];
  kernel.place = static_cast<std::int32_t>(pack_place(kernel.lanes.count));
  kernel.size = static_cast<std::int32_t>(operands.y_shape[0]);
  return kernel;
}

/// Rows are the first `axis` dimensions of x; `scale` has strides by all of them.
NormalizationGradientArguments row_gradient(const Tensor& x, const Tensor& scale, const Tensor& dy, const Tensor& dx,
                                            std::size_t axis) {
  NormalizationGradientArguments kernel;
  kernel.x = values_of(x);
  kernel.scale = values_of(scale);
  kernel.dy = values_of(dy);
  kernel.dx = static_cast<float*>(const_cast<void*>(dx.data));
  const auto set = [axis](const Tensor& tensor, Strides& rows, Strides& inner) {
    rows = to_strides(axes(tensor.strides, 0, axis));
    inner = to_strides(axes_from(tensor.strides, axis));
  };
  set(x, kernel.x_rows, kernel.x_inner);
  set(scale, kernel.scale_rows, kernel.scale_inner);
  set(dy, kernel.dy_rows, kernel.dy_inner);
  set(dx, kernel.dx_rows, kernel.dx_inner);
  kernel.rows =
      simplify({&kernel.dx_rows, &kernel.x_rows, &kernel.dy_rows, &kernel.scale_rows}, axes(x.shape, 0, axis));
  kernel.inner =
      simplify({&kernel.dx_inner, &kernel.x_inner, &kernel.dy_inner, &kernel.scale_inner}, axes_from(x.shape, axis));
  kernel.threads = team_for(kernel.inner.count);
  return kernel;
}

Tensor result_of(const Operands& operands) {
  return {operands.y, operands.y_shape, operands.y_strides, operands.y_type};
}

/// What `vectors` say by the channel, on the dimensions of y in the order of its memory.
NormalizeArguments normalization(const Operands& operands, float epsilon, NormalizeArguments kernel) {
  kernel.epsilon = epsilon;
  kernel.x = values_of(operands.inputs[0]);
  kernel.y = static_cast<float*>(operands.y);
  kernel.x_strides = to_strides(operands.inputs[0].strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.shape = simplify({&kernel.y_strides, &kernel.x_strides, &kernel.scale.strides, &kernel.shift.strides,
                           &kernel.mean.strides, &kernel.variance.strides},
                          operands.y_shape);
  return kernel;
}

std::vector<std::size_t> all_but(std::size_t axis, std::size_t rank) {
  std::vector<std::size_t> others;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != axis) others.push_back(d);
  }
  return others;
}

}  // namespace

KernelArguments kernel_of(const BatchStatistics& /*op*/, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  StatisticsArguments kernel;
  kernel.lanes = to_extents({x.shape[1]});
  kernel.x = values_of(x);
  kernel.x_lanes = to_strides({x.strides[1]});
  kernel.x_inner = to_strides(reference::without(x.strides, 1));
  kernel.inner = simplify({&kernel.x_inner}, reference::without(x.shape, 1));
  kernel.threads = team_for(kernel.inner.count);
  kernel.mean = static_cast<float*>(operands.y);
  kernel.variance = kernel.mean + operands.y_strides[0];
  kernel.mean_lanes = kernel.variance_lanes = to_strides({operands.y_strides[1]});
  return kernel;
}

KernelArguments kernel_of(const NormalizeByStatistics& op, const OpCall& /*call*/, const Operands& operands) {
  NormalizeArguments kernel;
  kernel.scale = per_channel(operands.inputs[1]);
  kernel.shift = per_channel(operands.inputs[2]);
  kernel.mean = means(operands.inputs[3]);
  kernel.variance = variances(operands.inputs[3]);
  return normalization(operands, op.epsilon, kernel);
}

KernelArguments normalization_by_views(const BatchNormalization& op, const Operands& operands) {
  NormalizeArguments kernel;
  kernel.scale = per_channel(operands.inputs[1]);
  kernel.shift = per_channel(operands.inputs[2]);
  kernel.mean = per_channel(operands.inputs[3]);
  kernel.variance = per_channel(operands.inputs[4]);
  return normalization(operands, op.epsilon, kernel);
}

KernelArguments kernel_of(const BatchNormalizationWeightGradient& op, const OpCall& /*call*/,
                          const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const Tensor& statistics = operands.inputs[1];
  Shape strides(x.shape.size(), 0);
  strides[1] = statistics.strides[1];
  const RowMoments moments{values_of(statistics), values_of(statistics) + statistics.strides[0], strides};
  NormalizationSumsArguments kernel = sums(x, operands.inputs[2], moments, {{1}, all_but(1, x.shape.size())}, operands);
  kernel.epsilon = op.epsilon;
  return kernel;
}

KernelArguments kernel_of(const BatchNormalizationGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor &x = operands.inputs[0], &dy = operands.inputs[3], &pack = operands.inputs[4];
  const std::int64_t step = pack.strides[0];
  NormalizeGradientArguments kernel;
  kernel.epsilon = op.epsilon;
  kernel.share = static_cast<float>(1.0 / static_cast<double>(element_count(x.shape) / x.shape[1]));
  kernel.x = values_of(x);
  kernel.dy = values_of(dy);
  kernel.dx = static_cast<float*>(operands.y);
  kernel.x_strides = to_strides(x.strides);
  kernel.dy_strides = to_strides(dy.strides);
  kernel.dx_strides = to_strides(operands.y_strides);
  kernel.scale = per_channel(operands.inputs[1]);
  kernel.mean = means(operands.inputs[2]);
  kernel.variance = variances(operands.inputs[2]);
  kernel.dscale = per_channel(pack, 0, step);
  kernel.dshift = per_channel(pack, pack_place(x.shape[1]) * step, step);
  kernel.shape =
      simplify({&kernel.dx_strides, &kernel.x_strides, &kernel.dy_strides, &kernel.scale.strides, &kernel.mean.strides,
                &kernel.variance.strides, &kernel.dscale.strides, &kernel.dshift.strides},
               operands.y_shape);
  return kernel;
}

KernelArguments kernel_of(const LayerNormalizationGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  Tensor scale = operands.inputs[1];
  scale.strides = broadcast(scale, x.shape);
  NormalizationGradientArguments kernel =
      row_gradient(x, scale, operands.inputs[2], result_of(operands), static_cast<std::size_t>(op.axis));
  kernel.epsilon = op.epsilon;
  return kernel;
}

KernelArguments kernel_of(const GroupNormalizationGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor x = grouped(operands.inputs[0], op.groups);
  Tensor scale = operands.inputs[1];
  const bool per_group = scale.shape[0] != operands.inputs[0].shape[1];
  const std::int64_t step = scale.strides[0];
  scale.strides.assign(x.shape.size(), 0);
  scale.strides[1] = per_group ? step : step * x.shape[2];
  if (!per_group) scale.strides[2] = step;
  NormalizationGradientArguments kernel =
      row_gradient(x, scale, grouped(operands.inputs[2], op.groups), grouped(result_of(operands), op.groups), 2);
  kernel.epsilon = op.epsilon;
  return kernel;
}

std::int64_t workspace_values(const LayerNormalizationWeightGradient& op, const OpCall& call) {
  return 2 * element_count(axes(shape_of(call.inputs[0]), 0, static_cast<std::size_t>(op.axis)));
}

std::int64_t workspace_values(const GroupNormalizationWeightGradient& op, const OpCall& call) {
  return 2 * shape_of(call.inputs[0])[0] * op.groups;
}

std::vector<KernelArguments> kernels_of(const LayerNormalizationWeightGradient& op, const OpCall& /*call*/,
                                        const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  const StatisticsArguments rows = row_statistics(x, axis, operands.workspace);
  Shape strides = reference::row_major_strides(axes(x.shape, 0, axis));
  strides.resize(x.shape.size(), 0);
  Split split;
  for (std::size_t d = 0; d < x.shape.size(); ++d) (d < axis ? split.inner : split.lanes).push_back(d);
  NormalizationSumsArguments kernel = sums(x, operands.inputs[1], {rows.mean, rows.variance, strides}, split, operands);
  kernel.epsilon = op.epsilon;
  return {rows, kernel};
}

std::vector<KernelArguments> kernels_of(const GroupNormalizationWeightGradient& op, const OpCall& /*call*/,
                                        const Operands& operands) {
  const Tensor x = grouped(operands.inputs[0], op.groups);
  const StatisticsArguments rows = row_statistics(x, 2, operands.workspace);
  Shape strides(x.shape.size(), 0);
  strides[0] = op.groups;
  strides[1] = 1;
  Split split{{1}, {0}};
  for (std::size_t d = 2; d < x.shape.size(); ++d) (d == 2 && !op.per_group ? split.lanes : split.inner).push_back(d);
  NormalizationSumsArguments kernel =
      sums(x, grouped(operands.inputs[1], op.groups), {rows.mean, rows.variance, strides}, split, operands);
  kernel.epsilon = op.epsilon;
  return {rows, kernel};
}

KernelArguments kernel_of(const LocalResponseNormalizationGradient& op, const OpCall& /*call*/,
                          const Operands& operands) {
  LrnGradientArguments kernel;
  kernel.shape = to_extents(operands.y_shape);
  kernel.size = static_cast<std::int32_t>(op.normalization.size);
  kernel.alpha = op.normalization.alpha;
  kernel.beta = op.normalization.beta;
  kernel.bias = op.normalization.bias;
  kernel.x = values_of(operands.inputs[0]);
  kernel.dy = values_of(operands.inputs[1]);
  kernel.dx = static_cast<float*>(operands.y);
  kernel.x_strides = to_strides(operands.inputs[0].strides);
  kernel.dy_strides = to_strides(operands.inputs[1].strides);
  kernel.dx_strides = to_strides(operands.y_strides);
  return kernel;
}

}  // namespace cohort::cuda::own
