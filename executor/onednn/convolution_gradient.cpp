#include <algorithm>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/loops/columns.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/windows.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// Zeros behind dw and, of `outputs` values, db in each pack.
Loop clear_gaps(const View& pack, std::int64_t models, std::int64_t weights, std::optional<std::int64_t> outputs) {
  const std::int64_t row = pack.shape.size() > 1 ? pack.strides[0] : 0;
  return [=](const HostArguments& arguments) {
    for (std::int64_t m = 0; m < models; ++m) {
      clear_behind(arguments.outputs[0] + m * row, weights);
      if (outputs) clear_behind(arguments.outputs[0] + m * row, pack_place(weights) + *outputs);
    }
  };
}

/// The part of each pack that holds db [K].
Binding bind_bias_gradient(const View& pack, std::int64_t models, std::int64_t outputs, std::int64_t place) {
  Binding binding = bind_output_as(DNNL_ARG_DIFF_BIAS, describe_dense({models * outputs}));
  binding.offset = place;
  for (std::int64_t m = 0; models > 1 && m < models; ++m)
    binding.pieces.push_back({m * pack.strides[0], m * outputs, outputs});
  return binding;
}

/// In the order that `x` and `dy` have.
void append_gradient(const ConvolutionWeightGradient& op, const std::vector<Binding>& bindings,
                     const Descriptor& weights, const Descriptor& bias, const dnnl::engine& engine,
                     Implementations& list) {
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  const Window& window = op.window;
  const Descriptor &x = bindings[0].descriptor, &dy = bindings[1].descriptor;
  const dnnl::memory::dims gaps = skipped(window.dilation);
  const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training, kDirect, x, weights, bias,
                                                           dy, window.stride, gaps, window.pad_begin, window.pad_end},
                                                          engine, /*allow_empty=*/true);
  if (!forward) return;
  const dnnl::convolution_backward_weights::desc description(kDirect, x, weights, bias, dy, window.stride, gaps,
                                                             window.pad_begin, window.pad_end);
  append_implementations(
      dnnl::convolution_backward_weights::primitive_desc(description, scratchpad_only(), engine, forward, true), "",
      bindings, list);
}

}  // namespace

Implementations implementations(const ConvolutionWeightGradient& op, const OpCall& call, const dnnl::engine& engine) {
  const View& pack = call.outputs[0];
  if (!call.post_ops.empty() || pack.strides.back() != 1) return {};
  const std::int64_t models = op.models, groups = op.shared_input ? op.groups : models * op.groups;
  // Outputs of one group do not adjoin where several members' groups share the input.
  if (op.shared_input && models > 1 && op.groups > 1) return {};
  const std::int64_t inputs = shape_of(call.inputs[0])[1] / groups, outputs = shape_of(call.inputs[1])[1];
  Shape shape{outputs / groups, inputs};
  if (groups > 1) shape.insert(shape.begin(), groups);
  shape.insert(shape.end(), op.window.kernel.begin(), op.window.kernel.end());
  const KernelView kernel = kernel_gradient(pack, shape, models);
  const std::int64_t weights = element_count(shape) / models;

  const Descriptor to = describe(kernel.shape, kernel.strides);
  Binding gradient = bind_output_as(DNNL_ARG_DIFF_WEIGHTS, to);
  gradient.pieces = kernel.pieces;
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, describe_input(call, 0)),
                                   bind_input(DNNL_ARG_DIFF_DST, 1, describe_input(call, 1)), gradient};
  Descriptor bias;
  if (op.bias) {
    bindings.push_back(bind_bias_gradient(pack, models, outputs / models, pack_place(weights)));
    bias = bindings.back().descriptor;
  }
  Implementations list;
  append_gradient(op, bindings, describe_any(kernel.shape), bias, engine, list);
  stage_as_wanted({DNNL_ARG_DIFF_WEIGHTS}, call, list);
  Implementations plain;
  append_gradient(op, bindings, to, bias, engine, plain);
  append_plain(std::move(plain), list);
  const auto biases = op.bias ? std::optional(outputs / models) : std::nullopt;
  for (Implementation& way : list) way.after = clear_gaps(pack, models, weights, biases);
  return list;
}

}  // namespace cohort::onednn
