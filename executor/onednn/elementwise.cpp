#include <algorithm>
#include <utility>

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"
#include "executor/reference/call.hpp"

namespace cohort::onednn {
namespace {

/// Empty where the library has none.
std::optional<dnnl::algorithm> binary_algorithm(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return dnnl::algorithm::binary_add;
    case BinaryKind::kSub:
      return dnnl::algorithm::binary_sub;
    case BinaryKind::kMul:
      return dnnl::algorithm::binary_mul;
    case BinaryKind::kDiv:
      return dnnl::algorithm::binary_div;
    default:  // not kMin and kMax, which lose a NaN
      return std::nullopt;
  }
}

/// A shape with strides, for taking views apart.
struct Extents {
  Shape shape, strides;
};

/// Operand `input` with leading ones up to the output's rank.
Extents aligned(const OpCall& call, std::size_t input) {
  const Operand& operand = call.inputs[input];
  const auto* const view = std::get_if<View>(&operand);
  Extents result{shape_of(operand), view != nullptr ? view->strides : dense_strides(shape_of(operand), Layout::kNchw)};
  const std::size_t missing = call.outputs[0].shape.size() - result.shape.size();
  const std::int64_t outer = result.shape.empty() ? 1 : result.shape.front() * result.strides.front();
  result.shape.insert(result.shape.begin(), missing, 1);
  result.strides.insert(result.strides.begin(), missing, outer);
  return result;
}

/// Two views of equally many elements cut into dimensions of equal extents, in logical order.
struct Refined {
  Shape shape, from, to;
};

/// Splits the dimensions of both views until they agree; empty where extents do not divide.
std::optional<Refined> refine(Extents x, Extents y) {
  Refined result;
  while (!x.shape.empty() || !y.shape.empty()) {
    if (!x.shape.empty() && x.shape.back() == 1) {
      x.shape.pop_back();
      continue;
    }
    if (!y.shape.empty() && y.shape.back() == 1) {
      y.shape.pop_back();
      continue;
    }
    if (x.shape.empty() || y.shape.empty()) return std::nullopt;
    std::int64_t& a = x.shape.back();
    std::int64_t& b = y.shape.back();
    const std::int64_t inner = std::min(a, b);
    if (a % inner != 0 || b % inner != 0) return std::nullopt;
    std::int64_t& from = x.strides[x.shape.size() - 1];
    std::int64_t& to = y.strides[y.shape.size() - 1];
    result.shape.insert(result.shape.begin(), inner);
    result.from.insert(result.from.begin(), from);
    result.to.insert(result.to.begin(), to);
    a /= inner;
    b /= inner;
    from *= inner;
    to *= inner;
  }
  if (result.shape.empty()) result = {{1}, {1}, {1}};
  return result;
}

/// PReLU with constant slopes.
Implementations slopes(const OpCall& call, const dnnl::engine& engine) {
  if (!lies_as_output(call) || !is_constant(call, 1) || !call.post_ops.empty()) return {};
  const Extents slope = aligned(call, 1);
  const Descriptor data = describe(call.outputs[0]);
  const dnnl::prelu_forward::desc description(dnnl::prop_kind::forward_inference, data, describe_any(slope.shape));
  Implementations list;
  append_implementations(dnnl::prelu_forward::primitive_desc(description, scratchpad_only(), engine, true), "",
                         {bind_input(DNNL_ARG_SRC, 0, data),
                          bind_input(DNNL_ARG_WEIGHTS, 1, describe(slope.shape, slope.strides)), bind_output(data)},
                         list);
  return list;
}

bool one_goes_wrong(const std::vector<PostOp>& post_ops) {
  return std::any_of(post_ops.begin(), post_ops.end(), [](const PostOp& post_op) {
    const auto* const activation = std::get_if<Activation>(&post_op);
    return activation != nullptr && goes_wrong(*activation);
  });
}

}  // namespace

Implementations implementations(const Activation& op, const OpCall& call, const dnnl::engine& engine) {
  if (goes_wrong(op) || one_goes_wrong(call.post_ops)) return {};
  if (!lies_as_output(call)) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  const Descriptor data = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC, 0, data), bind_output(data)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  const std::optional<Eltwise> function = eltwise(op);
  if (!function) return {};
  const dnnl::eltwise_forward::desc description(dnnl::prop_kind::forward_inference, function->algorithm, data,
                                                function->alpha, function->beta);
  Implementations list;
  append_implementations(dnnl::eltwise_forward::primitive_desc(description, post_ops->attributes, engine, true), "",
                         bindings, list);
  return list;
}

Implementations implementations(const Binary& op, const OpCall& call, const dnnl::engine& engine) {
  if (op.kind == BinaryKind::kPRelu && op.element == ElementType::kFloat32) return slopes(call, engine);
  const std::optional<dnnl::algorithm> algorithm = binary_algorithm(op.kind);
  if (!algorithm || op.element != ElementType::kFloat32 || one_goes_wrong(call.post_ops)) return {};
  const std::optional<PostOps> post_ops = make_post_ops(call);
  if (!post_ops) return {};
  std::size_t first = 0;
  std::size_t second = 1;
  // oneDNN 2.6 repeats only the second operand.
  const bool commutes = op.kind == BinaryKind::kAdd || op.kind == BinaryKind::kMul;
  if (commutes && shape_of(call.inputs[0]) != call.outputs[0].shape) std::swap(first, second);
  const Extents a = aligned(call, first);
  const Extents b = aligned(call, second);
  if (a.shape != call.outputs[0].shape) return {};
  const Descriptor x = describe(a.shape, a.strides);
  const Descriptor other = describe(b.shape, b.strides);
  const Descriptor y = describe(call.outputs[0]);
  std::vector<Binding> bindings = {bind_input(DNNL_ARG_SRC_0, first, x), bind_input(DNNL_ARG_SRC_1, second, other),
                                   bind_output(y)};
  bindings.insert(bindings.end(), post_ops->bindings.begin(), post_ops->bindings.end());
  const dnnl::binary::desc description(*algorithm, x, other, y);
  Implementations list;
  append_implementations(dnnl::binary::primitive_desc(description, post_ops->attributes, engine, true), "", bindings,
                         list);
  return list;
}

/// Always a copy: producers could write into the concatenation's memory only with a distance between channels' runs,
/// and to such an output oneDNN 2.6 has a convolution in plain loops only.
Implementations implementations(const Concat& op, const OpCall& call, const dnnl::engine& engine) {
  if (!call.post_ops.empty()) return {};
  std::vector<Descriptor> parts;
  std::vector<Binding> bindings;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    parts.push_back(describe_input(call, i));
    bindings.push_back(bind_input(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), i, parts.back()));
  }
  const Descriptor y = describe(call.outputs[0]);
  bindings.push_back(bind_output(y));
  const dnnl::concat::primitive_desc description(y, static_cast<int>(op.axis), parts, engine, scratchpad_only());
  return {{description.impl_info_str(), description, bindings, std::nullopt}};
}

Implementations implementations(const Reshape&, const OpCall& call, const dnnl::engine& engine) {
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  if (x == nullptr || !call.post_ops.empty()) return {};
  const View& y = call.outputs[0];
  if (element_count(y.shape) == 0) return {};
  const std::optional<Refined> refined = refine({x->shape, x->strides}, {y.shape, y.strides});
  if (!refined || refined->shape.size() > DNNL_MAX_NDIMS) return {};
  const Descriptor from = describe(refined->shape, refined->from);
  const Descriptor to = describe(refined->shape, refined->to);
  const dnnl::reorder::primitive_desc description(engine, from, engine, to, scratchpad_only());
  return {{description.impl_info_str(),
           description,
           {bind_input(DNNL_ARG_FROM, 0, from), {DNNL_ARG_TO, Binding::Source::kOutput, 0, to, {}}},
           std::nullopt}};
}

}  // namespace cohort::onednn
