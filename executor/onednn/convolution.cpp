#include <omp.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "executor/onednn/eight_bits.hpp"
#include "executor/onednn/implementation.hpp"
#include "executor/onednn/loops/activation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/onednn/windows.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// oneDNN 2.6's convolution by matrix product adds the wrong elements of an operand to an NHWC output.
bool by_gemm(const Implementation& way) { return way.algorithm.find("gemm:jit") != std::string::npos; }

/// Whether it is made for one kernel a channel.
bool for_depthwise(const Implementation& way) { return way.algorithm.find("dw") != std::string::npos; }

/// By Winograd's minimal filtering, which oneDNN 2.6 has for 3x3 windows on AVX-512, in float32 with 16 channels side
/// by side: images are brought into that order and back. On one core of a Zen 4 that still halves the time of most 3x3
/// convolutions of 64 channels and more, at 1.4 to 5 times the rounding error of the direct way.
void append_winograd(const Convolution& op, const OpCall& call, const dnnl::engine& engine, const PostOps& post_ops,
                     const std::vector<Binding>& bindings, Implementations& list) {
  const auto is_added = [](const PostOp& post_op) { return std::holds_alternative<AddOperand>(post_op); };
  // An operand to add lies in the order of the output as the call has it.
  if (op.groups > 1 || std::any_of(call.post_ops.begin(), call.post_ops.end(), is_added)) return;
  // What is dense is fast by direct ways, too: strided operands are made dense for those, once for all that read them.
  const auto dense = [](const View& view) { return is_dense(view, Layout::kNhwc) || is_dense(view, Layout::kNchw); };
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || !dense(*x) || !dense(call.outputs[0])) return;
  std::vector<Binding> staged = bindings;
  Shape kernel;
  Descriptor bias;
  for (Binding& binding : staged) {
    const bool computed_weights = binding.argument == DNNL_ARG_WEIGHTS && !is_constant(call, 1);
    binding.staged = binding.argument == DNNL_ARG_SRC || binding.argument == DNNL_ARG_DST || computed_weights;
    if (binding.argument == DNNL_ARG_BIAS) bias = binding.descriptor;
    if (binding.argument == DNNL_ARG_WEIGHTS) kernel = binding.descriptor.dims();
  }
  if (kernel.size() != 4 || kernel[2] != 3 || kernel[3] != 3) return;
  // In training the primitive itself transforms weights, which a reorder would do in plain loops.
  const auto kind = is_constant(call, 1) ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
  try {
    const dnnl::convolution_forward::desc description(
        kind, dnnl::algorithm::convolution_winograd, describe_any(x->shape), describe_any(kernel), bias,
        describe_any(call.outputs[0].shape), op.window.stride, skipped(op.window.dilation), op.window.pad_begin,
        op.window.pad_end);
    const auto ways_with = [&](const dnnl::primitive_attr& attributes) {
      Implementations ways;
      append_implementations(
          dnnl::convolution_forward::primitive_desc(description, attributes, engine, /*allow_empty=*/true), "", staged,
          ways);
      return ways;
    };
    Implementations ways = ways_with(post_ops.attributes);
    if (ways.empty() && !call.post_ops.empty() && post_ops.bindings.empty()) {
      const Loop after = follow_in_place(call, omp_get_max_threads());
      if (after) ways = ways_with(scratchpad_only());
      for (Implementation& way : ways) way.after = after;
    }
    std::move(ways.begin(), ways.end(), std::back_inserter(list));
  } catch (const dnnl::error&) {  // the direct ways are there all the same
  }
}

/// Padding at the end of the convolution that a transposed one undoes; empty where the library cannot tell the size of
/// y by it, or there is less than none at the begin.
std::optional<dnnl::memory::dims> transposed_pad_end(const ConvTranspose& op, const Shape& x, const Shape& y) {
  dnnl::memory::dims result;
  for (std::size_t d = 0; d < op.window.kernel.size(); ++d) {
    const std::int64_t reach = op.window.dilation[d] * (op.window.kernel[d] - 1) + 1;
    const std::int64_t whole = op.window.stride[d] * (x[d + 2] - 1) + reach;
    // Rows of y behind the last window, fewer than a stride, are what the convolution's division drops.
    result.push_back(std::max<std::int64_t>(whole - op.window.pad_begin[d] - y[d + 2], 0));
    const std::int64_t room = y[d + 2] + op.window.pad_begin[d] + result[d] - reach;
    if (op.window.pad_begin[d] < 0 || room < 0 || room / op.window.stride[d] + 1 != x[d + 2]) return std::nullopt;
  }
  return result;
}

/// What a convolution and its transposed form have in common.
struct Operands {
  Descriptor x, y, bias;
  KernelView kernel;
  std::vector<Binding> bindings;
  PostOps post_ops;
};

std::optional<Operands> operands_of(const OpCall& call, std::int64_t groups) {
  std::optional<PostOps> post_ops = make_post_ops(call);
  std::optional<KernelView> kernel = kernel_of(call, 1, groups, shape_of(call.inputs[0]).size() - 2);
  if (!post_ops || !kernel) return std::nullopt;
  const auto [x, y] = describe_alike(call);
  Operands result{x, y, {}, *std::move(kernel), {}, *std::move(post_ops)};
  result.bindings = {bind_input(DNNL_ARG_SRC, 0, result.x), bind_output(result.y)};
  result.bindings.insert(result.bindings.end(), result.post_ops.bindings.begin(), result.post_ops.bindings.end());
  if (own_input_count(call) == 3) {
    result.bindings.push_back(bind_bias(call, 2));
    result.bias = result.bindings.back().descriptor;
  }
  return result;
}

Binding bind_kernel(const KernelView& kernel) {
  Binding binding = bind_input(DNNL_ARG_WEIGHTS, 1, describe(kernel.shape, kernel.strides));
  binding.pieces = kernel.pieces;
  return binding;
}

/// Ways that `list_ways(descriptor of the weights)` knows: in the library's order of weights, staged unless they are
/// constants, and such that take computed weights as they lie.
template <class ListWays>
Implementations by_order_of_weights(const OpCall& call, const KernelView& kernel, ListWays list_ways) {
  Implementations list = list_ways(describe_any(kernel.shape));
  if (is_constant(call, 1)) return list;
  stage_as_wanted({DNNL_ARG_WEIGHTS}, call, list);
  append_plain(list_ways(describe(kernel.shape, kernel.strides)), list);
  return list;
}

/// As the gradient of a convolution, which is the same sum.
Implementations as_gradient(const ConvTranspose& op, const OpCall& call, const Operands& operands,
                            const dnnl::memory::dims& ends, const dnnl::engine& engine) {
  if (!call.post_ops.empty() || operands.bias || is_constant(call, 1)) return {};
  std::vector<Binding> bindings = operands.bindings;
  for (Binding& binding : bindings)
    binding.argument = binding.argument == DNNL_ARG_SRC ? DNNL_ARG_DIFF_DST : DNNL_ARG_DIFF_SRC;
  bindings.push_back(bind_kernel(operands.kernel));
  return by_order_of_weights(call, operands.kernel, [&](const Descriptor& weights) {
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const dnnl::memory::dims& begins = op.window.pad_begin;
    const dnnl::memory::dims gaps = skipped(op.window.dilation);
    Implementations list;
    const dnnl::convolution_forward::primitive_desc forward({dnnl::prop_kind::forward_training, kDirect, operands.y,
                                                             weights, operands.x, op.window.stride, gaps, begins, ends},
                                                            engine, /*allow_empty=*/true);
    if (!forward) return list;
    const dnnl::convolution_backward_data::desc description(kDirect, operands.y, weights, operands.x, op.window.stride,
                                                            gaps, begins, ends);
    append_implementations(
        dnnl::convolution_backward_data::primitive_desc(description, scratchpad_only(), engine, forward, true), "",
        bindings, list);
    return list;
  });
}

/// Each channel of x, an image, as often as kernels read it, in channels-last order: a convolution of several kernels a
/// channel (a channel multiplier, or first layers of several models) is a depthwise one of that copy. The library has
/// fast ways for one kernel a channel only.
std::optional<Operands> with_channels_repeated(const OpCall& call, const Operands& operands) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  KernelView kernel = operands.kernel;  // [C, kernels a channel, 1, R, S]
  if (x == nullptr || x->shape.size() != 4 || kernel.shape.size() != 5 || kernel.shape[0] != x->shape[1]) return {};
  const std::int64_t times = kernel.shape[1], channels = x->shape[1] * times;
  if (times == 1 || kernel.strides[0] != times * kernel.strides[1]) return {};
  kernel.shape[0] = channels;
  kernel.shape[1] = 1;
  kernel.strides[0] = kernel.strides[1];
  const Shape& s = x->strides;
  const Shape repeated{x->shape[0], x->shape[1], times, x->shape[2], x->shape[3]};
  const std::int64_t row = x->shape[3] * channels;
  Operands result = operands;
  result.kernel = std::move(kernel);
  result.x = describe({x->shape[0], channels, x->shape[2], x->shape[3]}, {x->shape[2] * row, 1, row, channels});
  Binding& source = result.bindings.front();
  source.descriptor = describe(repeated, {s[0], s[1], 0, s[2], s[3]});
  source.staged = true;
  source.staged_order = describe(repeated, {x->shape[2] * row, times, 1, row, channels});
  return result;
}

Implementations ways_of(const Convolution& op, const OpCall& call, const Operands& operands, const std::string& prefix,
                        const dnnl::engine& engine) {
  std::vector<Binding> bindings = operands.bindings;
  bindings.push_back(bind_kernel(operands.kernel));
  return by_order_of_weights(call, operands.kernel, [&](const Descriptor& weights) {
    const dnnl::convolution_forward::desc description(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, operands.x, weights, operands.bias,
        operands.y, op.window.stride, skipped(op.window.dilation), op.window.pad_begin, op.window.pad_end);
    Implementations ways;
    append_implementations(dnnl::convolution_forward::primitive_desc(description, operands.post_ops.attributes, engine,
                                                                     /*allow_empty=*/true),
                           prefix, bindings, ways);
    return ways;
  });
}

}  // namespace

Implementations implementations(const Convolution& op, const OpCall& call, const dnnl::engine& engine) {
  std::optional<Operands> operands = operands_of(call, op.groups);
  if (!operands) return {};
  Implementations list = eight_bit_ways(op, call, engine);
  Implementations direct = ways_of(op, call, *operands, "", engine);
  std::move(direct.begin(), direct.end(), std::back_inserter(list));
  if (const std::optional<Operands> repeated = with_channels_repeated(call, *operands)) {
    Implementations ways = ways_of(op, call, *repeated, "repeated/", engine);
    std::copy_if(std::move_iterator(ways.begin()), std::move_iterator(ways.end()), std::back_inserter(list),
                 for_depthwise);
  }
  if (!operands->post_ops.bindings.empty()) list.erase(std::remove_if(list.begin(), list.end(), by_gemm), list.end());
  operands->bindings.push_back(bind_kernel(operands->kernel));
  append_winograd(op, call, engine, operands->post_ops, operands->bindings, list);
  return list;
}

Implementations implementations(const ConvTranspose& op, const OpCall& call, const dnnl::engine& engine) {
  std::optional<Operands> operands = operands_of(call, op.groups);
  const std::optional<dnnl::memory::dims> ends =
      transposed_pad_end(op, shape_of(call.inputs[0]), call.outputs[0].shape);
  if (!operands || !ends) return {};
  Implementations list = as_gradient(op, call, *operands, *ends, engine);
  if (!list.empty()) return list;
  KernelView& kernel = operands->kernel;  // inputs before outputs; the library wants it the other way round
  const std::size_t first = op.groups > 1 ? 1 : 0;
  std::swap(kernel.shape[first], kernel.shape[first + 1]);
  std::swap(kernel.strides[first], kernel.strides[first + 1]);
  operands->bindings.push_back(bind_kernel(kernel));
  return by_order_of_weights(call, kernel, [&](const Descriptor& weights) {
    const dnnl::deconvolution_forward::desc description(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, operands->x, weights, operands->bias,
        operands->y, op.window.stride, skipped(op.window.dilation), op.window.pad_begin, *ends);
    Implementations ways;
    append_implementations(dnnl::deconvolution_forward::primitive_desc(description, operands->post_ops.attributes,
                                                                       engine, /*allow_empty=*/true),
                           "", operands->bindings, ways);
    return ways;
  });
}

}  // namespace cohort::onednn
