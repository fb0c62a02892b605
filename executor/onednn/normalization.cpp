#include <omp.h>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/loops/not_finite.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// The library's normalisation of each channel by statistics that are given, `mean` and `variance`.
Implementations by_statistics(const OpCall& call, float epsilon, Binding mean, Binding variance,
                              const dnnl::engine& engine) {
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!lies_as_output(call) || !post_ops) return {};
  const Descriptor data = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, data),
                                   bind_input(DNNL_ARG_SCALE, 1, describe_input(call, 1)),
                                   bind_input(DNNL_ARG_SHIFT, 2, describe_input(call, 2)),
                                   std::move(mean),
                                   std::move(variance),
                                   bind_output(data)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  const dnnl::batch_normalization_forward::desc description(dnnl::prop_kind::forward_inference, data, epsilon,
                                                            dnnl::normalization_flags::use_global_stats |
                                                                dnnl::normalization_flags::use_scale |
                                                                dnnl::normalization_flags::use_shift);
  Implementations list;
  append_implementations(
      dnnl::batch_normalization_forward::primitive_desc(description, post_ops->attributes, engine, true), "", bindings,
      list);
  return list;
}

}  // namespace

Implementations implementations(const BatchNormalization& op, const OpCall& call, const dnnl::engine& engine) {
  return by_statistics(call, op.epsilon, bind_input(DNNL_ARG_MEAN, 3, describe_input(call, 3)),
                       bind_input(DNNL_ARG_VARIANCE, 4, describe_input(call, 4)), engine);
}

/// Mean and variance are the rows of one operand.
Implementations implementations(const NormalizeByStatistics& op, const OpCall& call, const dnnl::engine& engine) {
  const auto* const statistics = std::get_if<View>(&call.inputs[3]);
  if (statistics == nullptr || !is_dense(*statistics, Layout::kNchw)) return {};
  const std::int64_t channels = call.outputs[0].shape[1];
  Binding variance = bind_input(DNNL_ARG_VARIANCE, 3, describe_dense({channels}));
  variance.offset = channels;
  return by_statistics(call, op.epsilon, bind_input(DNNL_ARG_MEAN, 3, describe_dense({channels})), std::move(variance),
                       engine);
}

Implementations implementations(const LocalResponseNormalization& op, const OpCall& call, const dnnl::engine& engine) {
  // oneDNN's window is centred, so even sizes differ from ONNX's.
  if (!lies_as_output(call) || !call.post_ops.empty() || op.size % 2 == 0) return {};
  const Descriptor data = describe(call.outputs[0]);
  const dnnl::lrn_forward::desc description(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                            data, op.size, op.alpha, op.beta, op.bias);
  Implementations list;
  append_implementations(dnnl::lrn_forward::primitive_desc(description, scratchpad_only(), engine, true), "",
                         {bind_input(DNNL_ARG_SRC, 0, data), bind_output(data)}, list);
  return list;
}

Implementations implementations(const LayerNormalization& op, const OpCall& call, const dnnl::engine& engine) {
  if (!op.centred || !lies_as_output(call) || !call.post_ops.empty()) return {};
  const std::optional<MatrixView> y = as_matrix(call.outputs[0], static_cast<std::size_t>(op.axis));
  if (!y) return {};
  const std::int64_t columns = y->columns;
  const Descriptor data = describe({y->rows, columns}, {y->rows > 1 ? y->distance : columns, 1});
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, data), bind_output(data)};
  const std::size_t count = own_input_count(call);
  for (std::size_t i = 1; i < count; ++i) {
    // One value for every column; what broadcasting would repeat, the library cannot.
    if (!is_dense_row(call.inputs[i], call.outputs[0].shape, static_cast<std::size_t>(op.axis))) return {};
    bindings.push_back(bind_input(i == 1 ? DNNL_ARG_SCALE : DNNL_ARG_SHIFT, i, describe_dense({columns})));
  }
  auto flags = dnnl::normalization_flags::use_scale;
  if (count > 2) flags = flags | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::desc description(dnnl::prop_kind::forward_inference, data, op.epsilon,
                                                            flags);
  Implementations list;
  append_implementations(
      dnnl::layer_normalization_forward::primitive_desc(description, scratchpad_only(), engine, true), "", bindings,
      list);
  return list;
}

Implementations implementations(const Softmax& op, const OpCall& call, const dnnl::engine& engine) {
  // From one layout to another along an axis of one element, oneDNN 2.6 goes by strides that say nothing, and writes
  // outside the output. Neither is left to it.
  const bool has_one = call.outputs[0].shape[static_cast<std::size_t>(op.axis)] == 1;
  if (!call.post_ops.empty() || has_one || !lies_as_output(call)) return {};
  const Descriptor data = describe(call.outputs[0]);
  const auto algorithm = op.logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  const dnnl::softmax_v2_forward::desc description(dnnl::prop_kind::forward_inference, algorithm, data, data,
                                                   static_cast<int>(op.axis));
  Implementations list;
  append_implementations(dnnl::softmax_v2_forward::primitive_desc(description, scratchpad_only(), engine, true), "",
                         {bind_input(DNNL_ARG_SRC, 0, data), bind_output(data)}, list);
  // Its kernels give zeros to a row that has a NaN, or nothing but -inf.
  const Loop check = compute_anew_where_lost(call, omp_get_max_threads());
  if (!check) return {};
  for (Implementation& way : list) way.after = check;
  return list;
}

}  // namespace cohort::onednn
