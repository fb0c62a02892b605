#include "executor/cuda/own/training_lowering.hpp"

#include "executor/cuda/own/grid.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/tensor_ref.hpp"

namespace cohort::cuda::own {
namespace {

const float* floats(const Tensor& tensor) { return static_cast<const float*>(tensor.data); }
float* floats(void* data) { return static_cast<float*>(data); }

std::int32_t small(std::int64_t value) { return static_cast<std::int32_t>(value); }

/// Labels [N, ...] and scores [N, K, ...], or with a model axis before, which the samples have in either case.
LabelledScores scores_of(const SoftmaxCrossEntropy& op, const Operands& operands) {
  const Tensor& x = operands.inputs[0];
  const Tensor& labels = operands.inputs[1];
  const std::size_t axis = op.stacked ? 2 : 1;
  const auto with_models = [&](Shape values, std::int64_t of_models) {
    if (!op.stacked) values.insert(values.begin(), of_models);
    return values;
  };
  LabelledScores scores;
  scores.samples = to_extents(with_models(labels.shape, 1));
  scores.models = op.stacked ? small(labels.shape[0]) : 1;
  scores.classes = small(x.shape[axis]);
  scores.ignores = op.ignored.has_value();
  scores.ignored = op.ignored.value_or(0);
  scores.x = floats(x);
  scores.labels = floats(labels);
  scores.class_step = x.strides[axis];
  scores.x_strides = to_strides(with_models(reference::without(x.strides, axis), 0));
  scores.label_strides = to_strides(with_models(labels.strides, 0));
  return scores;
}

/// Strides along the leading axis alone.
Strides along_models(bool stacked, std::int64_t step) {
  Strides strides;
  if (stacked) strides.of[0] = step;
  return strides;
}

}  // namespace

std::int32_t team_for(std::int64_t length) {
  constexpr std::int64_t kShort = 16, kLong = 2048;
  return length <= kShort ? 1 : length < kLong ? kWarp : kBlock;
}

KernelArguments zeros(void* to, const Shape& shape, const Shape& strides) {
  PadArguments kernel;
  kernel.y_shape = to_extents(shape.empty() ? Shape{1} : shape);
  kernel.y_strides = to_strides(strides);
  kernel.y = to;  // nothing lies inside of an x without extents
  return kernel;
}

KernelArguments kernel_of(const ActivationGradient& op, const OpCall& /*call*/, const Operands& operands) {
  SlopeArguments kernel;
  kernel.kind = post_kind(op.activation.kind);
  kernel.alpha = op.activation.alpha;
  kernel.beta = op.activation.beta;
  kernel.z = floats(operands.inputs[0]);
  kernel.dy = floats(operands.inputs[1]);
  kernel.dx = floats(operands.y);
  kernel.z_strides = to_strides(operands.inputs[0].strides);
  kernel.dy_strides = to_strides(operands.inputs[1].strides);
  kernel.dx_strides = to_strides(operands.y_strides);
  kernel.shape = simplify({&kernel.dx_strides, &kernel.z_strides, &kernel.dy_strides}, operands.y_shape);
  return kernel;
}

KernelArguments kernel_of(const SoftmaxGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape &y = operands.inputs[0].strides, &dy = operands.inputs[1].strides, &dx = operands.y_strides;
  SoftmaxGradientArguments kernel;
  kernel.logarithm = op.logarithm;
  kernel.length = small(operands.y_shape[axis]);
  kernel.threads = team_for(kernel.length);
  kernel.lanes = to_extents(reference::without(operands.y_shape, axis));
  kernel.y = floats(operands.inputs[0]);
  kernel.dy = floats(operands.inputs[1]);
  kernel.dx = floats(operands.y);
  kernel.y_step = y[axis];
  kernel.dy_step = dy[axis];
  kernel.dx_step = dx[axis];
  kernel.y_strides = to_strides(reference::without(y, axis));
  kernel.dy_strides = to_strides(reference::without(dy, axis));
  kernel.dx_strides = to_strides(reference::without(dx, axis));
  return kernel;
}

std::int64_t workspace_values(const SoftmaxCrossEntropy& /*op*/, const OpCall& call) {
  return element_count(shape_of(call.inputs[1]));
}

std::vector<KernelArguments> kernels_of(const SoftmaxCrossEntropy& op, const OpCall& /*call*/,
                                        const Operands& operands) {
  SampleLossArguments each;
  each.scores = scores_of(op, operands);
  each.threads = team_for(each.scores.classes);
  each.losses = operands.workspace;
  LossArguments all;
  all.scores = each.scores;
  all.threads = team_for(all.scores.samples.count / all.scores.models);
  all.mean = op.reduction == LossReduction::kMean;
  all.losses = operands.workspace;
  all.y = floats(operands.y);
  all.y_step = operands.y_strides[0];
  return {each, all};
}

KernelArguments kernel_of(const SoftmaxCrossEntropyGradient& op, const OpCall& /*call*/, const Operands& operands) {
  const std::size_t axis = op.loss.stacked ? 2 : 1;
  LossGradientArguments kernel;
  kernel.scores = scores_of(op.loss, operands);
  kernel.threads = team_for(kernel.scores.classes);
  kernel.mean = op.loss.reduction == LossReduction::kMean;
  kernel.dx = floats(operands.y);
  kernel.dx_step = operands.y_strides[axis];
  Shape strides = reference::without(operands.y_strides, axis);
  if (!op.loss.stacked) strides.insert(strides.begin(), 0);
  kernel.dx_strides = to_strides(strides);
  return kernel;
}

KernelArguments kernel_of(const Dropout& op, const OpCall& /*call*/, const Operands& operands) {
  const Tensor &rate = operands.inputs[1], &key = operands.inputs[2];
  Shape numbers = reference::row_major_strides(operands.y_shape);
  if (op.stacked) numbers[0] = 0;
  DropoutArguments kernel;
  kernel.salt = op.salt;
  kernel.x = floats(operands.inputs[0]);
  kernel.rate = floats(rate);
  kernel.key = floats(key);
  kernel.y = floats(operands.y);
  kernel.key_step = key.strides.back();
  kernel.x_strides = to_strides(operands.inputs[0].strides);
  kernel.y_strides = to_strides(operands.y_strides);
  kernel.number_strides = to_strides(numbers);
  kernel.rate_strides = along_models(op.stacked, rate.strides[0]);
  kernel.key_strides = along_models(op.stacked, key.strides[0]);
  kernel.shape = simplify(
      {&kernel.y_strides, &kernel.x_strides, &kernel.number_strides, &kernel.rate_strides, &kernel.key_strides},
      operands.y_shape);
  return kernel;
}

KernelArguments kernel_of(const Update& op, const OpCall& /*call*/, const Operands& operands) {
  static_assert(static_cast<int>(UpdateBy::kAdamW) == static_cast<int>(UpdateRule::kAdamW));
  static_assert(static_cast<int>(SettingAt::kClipNorm) == static_cast<int>(Setting::kClipNorm));
  const Tensor &state = operands.inputs[0], &gradient = operands.inputs[1], &settings = operands.inputs[2];
  const std::size_t row = op.stacked ? 1 : 0;
  const auto of_model = [&](const Shape& strides) { return op.stacked ? strides[0] : 0; };
  UpdateArguments kernel;
  kernel.rule = static_cast<UpdateBy>(static_cast<int>(op.rule));
  kernel.momentum = op.momentum;
  kernel.nesterov = op.nesterov;
  kernel.models = op.stacked ? small(state.shape[0]) : 1;
  kernel.rows = small(state.shape[row]);
  kernel.parameters = small(state.shape[row + 1]);
  kernel.state = floats(state);
  kernel.gradient = floats(gradient);
  kernel.settings = floats(settings);
  kernel.next = floats(operands.y);
  kernel.state_model = of_model(state.strides);
  kernel.state_row = state.strides[row];
  kernel.state_step = state.strides[row + 1];
  kernel.next_model = of_model(operands.y_strides);
  kernel.next_row = operands.y_strides[row];
  kernel.next_step = operands.y_strides[row + 1];
  kernel.gradient_model = of_model(gradient.strides);
  kernel.gradient_step = gradient.strides.back();
  kernel.settings_model = of_model(settings.strides);
  kernel.settings_step = settings.strides.back();
  if (!op.clip) return kernel;
  kernel.norm = floats(operands.inputs[3]);
  kernel.norm_model = of_model(operands.inputs[3].strides);
  return kernel;
}

KernelArguments kernel_of(const RunningAverage& op, const OpCall& /*call*/, const Operands& operands) {
  MapArguments kernel = map_of(MapKind::kApproach, {operands.inputs[0], operands.inputs[1]}, operands, {});
  kernel.factor = op.momentum;
  return kernel;
}

}  // namespace cohort::cuda::own
