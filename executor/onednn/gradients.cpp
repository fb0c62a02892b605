// Gradients of elementwise functions, softmax and resizing, as primitives.

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"

namespace cohort::onednn {
namespace {

/// The library's name for a gradient that is computed from the function's result.
std::optional<dnnl::algorithm> by_result(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
    case ActivationKind::kLeakyRelu:
      return dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    case ActivationKind::kElu:
      return dnnl::algorithm::eltwise_elu_use_dst_for_bwd;
    case ActivationKind::kSigmoid:
      return dnnl::algorithm::eltwise_logistic_use_dst_for_bwd;
    case ActivationKind::kTanh:
      return dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;
    case ActivationKind::kExp:
      return dnnl::algorithm::eltwise_exp_use_dst_for_bwd;
    case ActivationKind::kSqrt:
      return dnnl::algorithm::eltwise_sqrt_use_dst_for_bwd;
    default:
      return std::nullopt;
  }
}

}  // namespace

Implementations implementations(const ActivationGradient& op, const OpCall& call, const dnnl::engine& engine) {
  std::optional<Eltwise> function = eltwise(op.activation);
  if (!lies_as_output(call, 0) || !lies_as_output(call, 1) || !call.post_ops.empty() || !function) return {};
  const bool from_result = derives_from_result(op.activation.kind);
  if (from_result) {
    const std::optional<dnnl::algorithm> algorithm = by_result(op.activation.kind);
    if (!algorithm) return {};
    function->algorithm = *algorithm;
  }
  const Descriptor data = describe(call.outputs[0]);
  const dnnl::eltwise_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, function->algorithm, data, function->alpha, function->beta}, engine,
      /*allow_empty=*/true);
  Implementations list;
  if (!forward) return list;
  const dnnl::eltwise_backward::desc description(function->algorithm, data, data, function->alpha, function->beta);
  append_implementations(dnnl::eltwise_backward::primitive_desc(description, scratchpad_only(), engine, forward, true),
                         "",
                         {bind_input(from_result ? DNNL_ARG_DST : DNNL_ARG_SRC, 0, data),
                          bind_input(DNNL_ARG_DIFF_DST, 1, data), bind_output_as(DNNL_ARG_DIFF_SRC, data)},
                         list);
  return list;
}

Implementations implementations(const SoftmaxGradient& op, const OpCall& call, const dnnl::engine& engine) {
  const bool has_one = call.outputs[0].shape[static_cast<std::size_t>(op.axis)] == 1;
  if (!lies_as_output(call, 0) || !lies_as_output(call, 1) || !call.post_ops.empty() || has_one) return {};
  const Descriptor data = describe(call.outputs[0]);
  const auto algorithm = op.logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const int axis = static_cast<int>(op.axis);
  const dnnl::softmax_v2_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, data, data, axis}, engine, /*allow_empty=*/true);
  Implementations list;
  if (!forward) return list;
  const dnnl::softmax_v2_backward::desc description(algorithm, data, data, data, axis);
  append_implementations(
      dnnl::softmax_v2_backward::primitive_desc(description, scratchpad_only(), engine, forward, true), "",
      {bind_input(DNNL_ARG_DST, 0, data), bind_input(DNNL_ARG_DIFF_DST, 1, data),
       bind_output_as(DNNL_ARG_DIFF_SRC, data)},
      list);
  return list;
}

Implementations implementations(const ResizeGradient& op, const OpCall& call, const dnnl::engine& engine) {
  if (op.shape.size() < 3 || op.shape.size() > 5 || !maps_centres(op.resize, op.shape) || !call.post_ops.empty())
    return {};
  const Descriptor from = describe_input(call, 0), to = describe(call.outputs[0]);
  const dnnl::algorithm algorithm =
      op.resize.mode == ResizeMode::kNearest ? dnnl::algorithm::resampling_nearest : dnnl::algorithm::resampling_linear;
  const dnnl::resampling_forward::primitive_desc forward({dnnl::prop_kind::forward_training, algorithm, to, from},
                                                         engine, /*allow_empty=*/true);
  Implementations list;
  if (!forward) return list;
  const dnnl::resampling_backward::desc description(algorithm, to, from);
  append_implementations(
      dnnl::resampling_backward::primitive_desc(description, scratchpad_only(), engine, forward, true), "",
      {bind_input(DNNL_ARG_DIFF_DST, 0, from), bind_output_as(DNNL_ARG_DIFF_SRC, to)}, list);
  return list;
}

}  // namespace cohort::onednn
