#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

/// Inputs 1 and, where there is one, 2 are scale and shift, whose gradients `pack` holds in this order.
void give_scale_and_shift(OpGradient& at, TensorId pack) {
  if (at.wants(1)) at.give_part(1, pack, 0);
  if (at.input_count() > 2 && at.wants(2)) at.give_part(2, pack, pack_place(element_count(at.x_shape(1))));
}

bool wants_parameters(const OpGradient& at) { return at.wants(1) || (at.input_count() > 2 && at.wants(2)); }

}  // namespace

/// By x it needs the sums that the parameters' gradients are.
Result<void> gradient(const NormalizeByStatistics& op, OpGradient& at) {
  const TensorId dy = at.dy();
  const TensorId statistics = at.x(3);
  const TensorId pack = at.add("dw", BatchNormalizationWeightGradient{op.epsilon}, {at.x(0), statistics, dy});
  if (at.wants(1)) at.give_part(1, pack, 0);
  if (at.wants(2)) at.give_part(2, pack, pack_place(at.x_shape(1)[0]));
  if (at.wants(0))
    at.give(0, at.add("dx", BatchNormalizationGradient{op.epsilon}, {at.x(0), at.x(1), statistics, dy, pack}));
  return {};
}

Result<void> gradient(const GroupNormalization& op, OpGradient& at) {
  const TensorId dy = at.dy();
  if (wants_parameters(at)) {
    const Shape scale = at.x_shape(1);
    const bool per_group = scale[0] == op.groups && op.groups != at.x_shape(0)[1];
    give_scale_and_shift(
        at, at.add("dw", GroupNormalizationWeightGradient{op.groups, op.epsilon, per_group}, {at.x(0), dy}));
  }
  if (at.wants(0)) at.give(0, at.add("dx", GroupNormalizationGradient{op.groups, op.epsilon}, {at.x(0), at.x(1), dy}));
  return {};
}

Result<void> gradient(const LayerNormalization& op, OpGradient& at) {
  if (!op.centred) return at.refuse();
  const TensorId dy = at.dy();
  if (wants_parameters(at))
    give_scale_and_shift(at, at.add("dw", LayerNormalizationWeightGradient{op.axis, op.epsilon}, {at.x(0), dy}));
  if (at.wants(0)) at.give(0, at.add("dx", LayerNormalizationGradient{op.axis, op.epsilon}, {at.x(0), at.x(1), dy}));
  return {};
}

Result<void> gradient(const LocalResponseNormalization& op, OpGradient& at) {
  at.give(0, at.add("dx", LocalResponseNormalizationGradient{op}, {at.x(0), at.dy()}));
  return {};
}

Result<void> gradient(const Softmax& op, OpGradient& at) {
  at.give(0, at.add("dx", SoftmaxGradient{op.axis, op.logarithm}, {at.y(), at.dy()}));
  return {};
}

Result<void> gradient(const SoftmaxCrossEntropy& op, OpGradient& at) {
  if (op.stacked) return at.refuse();
  const bool is_loss = at.uniform_dy() == 1.0F;
  const TensorId dx = at.add(is_loss ? "dx" : "slope", SoftmaxCrossEntropyGradient{op}, {at.x(0), at.x(1)});
  at.give(0, is_loss ? dx : at.binary("dx", BinaryKind::kMul, dx, at.dy()));
  return {};
}

}  // namespace cohort::training
