#include <algorithm>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// oneDNN counts the elements skipped, ONNX the distance.
dnnl::memory::dims skipped(const std::vector<std::int64_t>& dilation) {
  dnnl::memory::dims result = dilation;
  for (std::int64_t& value : result) --value;
  return result;
}

/// oneDNN 2.6's convolution by matrix product adds the wrong elements of an operand to an NHWC output.
bool by_gemm(const Implementation& way) { return way.algorithm.find("gemm:jit") != std::string::npos; }

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
  const Shape& kernel = shape_of(call.inputs[1]);
  if (kernel.size() != 4 || kernel[2] != 3 || kernel[3] != 3) return;
  std::vector<Binding> staged = bindings;
  Descriptor bias;
  for (Binding& binding : staged) {
    binding.staged = binding.argument == DNNL_ARG_SRC || binding.argument == DNNL_ARG_DST;
    if (binding.argument == DNNL_ARG_BIAS) bias = binding.descriptor;
  }
  try {
    const dnnl::convolution_forward::desc description(
        dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_winograd, describe_any(x->shape),
        describe_any(kernel), bias, describe_any(call.outputs[0].shape), op.window.stride, skipped(op.window.dilation),
        op.window.pad_begin, op.window.pad_end);
    append_implementations(
        dnnl::convolution_forward::primitive_desc(description, post_ops.attributes, engine, /*allow_empty=*/true), "",
        staged, list);
  } catch (const dnnl::error&) {  // the direct ways are there all the same
  }
}

/// Padding at the end with which the window's last position is the output's last, where ceil_mode
/// lets it reach over the padding asked for.
dnnl::memory::dims pad_end(const Window& window, const Shape& x, const Shape& y) {
  dnnl::memory::dims result = window.pad_end;
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::int64_t reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t needed = (y[d + 2] - 1) * window.stride[d] + reach - x[d + 2] - window.pad_begin[d];
    result[d] = std::max(result[d], needed);
  }
  return result;
}

/// Rows and columns cut off at the end; empty where some are added, at either end.
std::optional<dnnl::memory::dims> transposed_pad_end(const ConvTranspose& op, const Shape& x, const Shape& y) {
  dnnl::memory::dims result;
  for (std::size_t d = 0; d < op.window.kernel.size(); ++d) {
    const std::int64_t reach = op.window.dilation[d] * (op.window.kernel[d] - 1) + 1;
    const std::int64_t whole = op.window.stride[d] * (x[d + 2] - 1) + reach;
    result.push_back(whole - op.window.pad_begin[d] - y[d + 2]);
    if (op.window.pad_begin[d] < 0 || result[d] < 0) return std::nullopt;
  }
  return result;
}

}  // namespace

Implementations implementations(const Convolution& op, const OpCall& call, const dnnl::engine& engine) {
  if (!is_constant(call, 1)) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  Shape kernel = shape_of(call.inputs[1]);
  if (op.groups > 1) {
    kernel[0] /= op.groups;
    kernel.insert(kernel.begin(), op.groups);
  }
  const Descriptor x = describe_input(call, 0);
  const Descriptor y = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, x),
                                   bind_input(DNNL_ARG_WEIGHTS, 1, describe_dense(kernel)), bind_output(y)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  Descriptor bias;
  if (own_input_count(call) == 3) {
    bias = describe_input(call, 2);
    bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
  }
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, describe_any(kernel), bias, y,
      op.window.stride, skipped(op.window.dilation), op.window.pad_begin, op.window.pad_end);
  Implementations list;
  append_implementations(
      dnnl::convolution_forward::primitive_desc(description, post_ops->attributes, engine, /*allow_empty=*/true), "",
      bindings, list);
  if (!post_ops->bindings.empty()) list.erase(std::remove_if(list.begin(), list.end(), by_gemm), list.end());
  append_winograd(op, call, engine, *post_ops, bindings, list);
  return list;
}

Implementations implementations(const ConvTranspose& op, const OpCall& call, const dnnl::engine& engine) {
  if (!is_constant(call, 1)) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  const std::optional<dnnl::memory::dims> ends =
      transposed_pad_end(op, shape_of(call.inputs[0]), call.outputs[0].shape);
  if (!ends) return {};
  const Shape& given = shape_of(call.inputs[1]);  // [C, K/groups, R, S]; the library wants outputs before inputs
  Shape kernel = given, strides = dense_strides(given, Layout::kNchw);
  kernel[0] = given[0] / op.groups;
  std::swap(kernel[0], kernel[1]);
  std::swap(strides[0], strides[1]);
  if (op.groups > 1) {
    kernel.insert(kernel.begin(), op.groups);
    strides.insert(strides.begin(), element_count(given) / op.groups);
  }
  const Descriptor x = describe_input(call, 0);
  const Descriptor y = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, x),
                                   bind_input(DNNL_ARG_WEIGHTS, 1, describe(kernel, strides)), bind_output(y)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  Descriptor bias;
  if (own_input_count(call) == 3) {
    bias = describe_input(call, 2);
    bindings.push_back(bind_input(DNNL_ARG_BIAS, 2, bias));
  }
  const dnnl::deconvolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, x, describe_any(kernel), bias, y,
      op.window.stride, skipped(op.window.dilation), op.window.pad_begin, *ends);
  Implementations list;
  append_implementations(
      dnnl::deconvolution_forward::primitive_desc(description, post_ops->attributes, engine, /*allow_empty=*/true), "",
      bindings, list);
  return list;
}

Implementations implementations(const Pool& op, const OpCall& call, const dnnl::engine& engine) {
  const dnnl::memory::dims ends = pad_end(op.window, shape_of(call.inputs[0]), call.outputs[0].shape);
  // oneDNN counts what ceil_mode adds as padding, too.
  if (op.kind == PoolKind::kAverage && op.count_include_pad && ends != op.window.pad_end) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  const Descriptor x = describe_input(call, 0);
  const Descriptor y = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, x), bind_output(y)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  if (op.kind == PoolKind::kAverage) {
    algorithm = op.count_include_pad ? dnnl::algorithm::pooling_avg_include_padding
                                     : dnnl::algorithm::pooling_avg_exclude_padding;
  }
  const dnnl::pooling_v2_forward::desc description(dnnl::prop_kind::forward_inference, algorithm, x, y,
                                                   op.window.stride, op.window.kernel, skipped(op.window.dilation),
                                                   op.window.pad_begin, ends);
  Implementations list;
  append_implementations(
      dnnl::pooling_v2_forward::primitive_desc(description, post_ops->attributes, engine, /*allow_empty=*/true), "",
      bindings, list);
  return list;
}

}  // namespace cohort::onednn
