#include "executor/onednn/operands.hpp"

#include <utility>

#include "executor/reference/call.hpp"

namespace cohort::onednn {

Descriptor describe(const Shape& shape, const Shape& strides) {
  // Without dimensions there would be no elements, and nothing would be computed.
  if (shape.empty()) return Descriptor({1}, dnnl::memory::data_type::f32, dnnl::memory::dims{1});
  return Descriptor(shape, dnnl::memory::data_type::f32, strides);
}

Descriptor describe(const View& view) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    if (view.strides == dense_strides(view.shape, layout)) return describe(view.shape, view.strides);
  }
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    if (is_dense(view, layout)) return describe(view.shape, dense_strides(view.shape, layout));
  }
  return describe(view.shape, view.strides);
}

Descriptor describe_dense(const Shape& shape) { return describe(shape, dense_strides(shape, Layout::kNchw)); }

Descriptor describe_any(const Shape& shape) {
  return Descriptor(shape, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
}

Descriptor describe_input(const OpCall& call, std::size_t input) {
  const Operand& operand = call.inputs[input];
  if (const auto* const view = std::get_if<View>(&operand)) return describe(*view);
  return describe_dense(shape_of(operand));
}

ReadAndWritten describe_alike(const OpCall& call) {
  const View& y = call.outputs[0];
  const auto* const x = std::get_if<View>(&call.inputs[0]);
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    if (x == nullptr || !is_dense(*x, layout) || !is_dense(y, layout)) continue;
    return {describe(x->shape, dense_strides(x->shape, layout)), describe(y.shape, dense_strides(y.shape, layout))};
  }
  return {describe_input(call, 0), describe(y)};
}

bool is_constant(const OpCall& call, std::size_t input) {
  return std::holds_alternative<WeightView>(call.inputs[input]);
}

bool same_strides(const View& a, const View& b) {
  if (a.shape != b.shape) return false;
  for (std::size_t d = 0; d < a.shape.size(); ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return true;
}

Stepped stepped(const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& step, Shape strides) {
  Stepped result{std::move(strides)};
  for (std::size_t d = 0; d < result.strides.size(); ++d) {
    result.first += start[d] * result.strides[d];
    result.strides[d] *= step[d];
  }
  return result;
}

Shape permuted(const Transpose& op, const Shape& strides) {
  Shape result;
  for (const std::int64_t axis : op.permutation) result.push_back(strides[static_cast<std::size_t>(axis)]);
  return result;
}

bool is_dense(const View& view, Layout layout) {
  return same_strides(view, {view.buffer, view.offset, view.shape, dense_strides(view.shape, layout)});
}

bool lies_as_output(const OpCall& call, std::size_t input) {
  const auto* const view = std::get_if<View>(&call.inputs[input]);
  return view != nullptr && same_strides(*view, call.outputs[0]);
}

std::optional<MatrixView> as_matrix(const View& view, std::size_t axis) {
  MatrixView result;
  for (std::size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] == 1) continue;
    if (d >= axis) {
      if (view.strides[d] != result.columns) return std::nullopt;
      result.columns *= view.shape[d];
      continue;
    }
    if (result.rows == 1) result.distance = view.strides[d];
    if (view.strides[d] != result.rows * result.distance) return std::nullopt;
    result.rows *= view.shape[d];
  }
  return result;
}

bool is_dense_row(const Operand& operand, const Shape& x, std::size_t axis) {
  const auto* const view = std::get_if<View>(&operand);
  if (view != nullptr && view->strides != dense_strides(view->shape, Layout::kNchw)) return false;
  const Shape& shape = shape_of(operand);
  const std::size_t missing = x.size() - shape.size();
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::int64_t extent = d < missing ? 1 : shape[d - missing];
    if (extent != (d < axis ? 1 : x[d])) return false;
  }
  return true;
}

Binding bind_input(int argument, std::size_t operand, Descriptor descriptor) {
  return {argument, Binding::Source::kInput, operand, descriptor, {}};
}

Binding bind_output(Descriptor descriptor) { return {DNNL_ARG_DST, Binding::Source::kOutput, 0, descriptor, {}}; }

Binding bind_output_as(int argument, Descriptor descriptor) {
  Binding binding = bind_output(descriptor);
  binding.argument = argument;
  return binding;
}

bool goes_wrong(const Activation& activation) {
  return activation.kind == ActivationKind::kRelu || activation.kind == ActivationKind::kClip ||
         activation.kind == ActivationKind::kExp || activation.kind == ActivationKind::kMish ||
         activation.kind == ActivationKind::kFakeQuantize;
}

std::optional<Eltwise> eltwise(const Activation& activation) {
  switch (activation.kind) {
    case ActivationKind::kRelu:
      return Eltwise{dnnl::algorithm::eltwise_relu, 0, 0};
    case ActivationKind::kLeakyRelu:
      return Eltwise{dnnl::algorithm::eltwise_relu, activation.alpha, 0};
    case ActivationKind::kElu:
      return Eltwise{dnnl::algorithm::eltwise_elu, activation.alpha, 0};
    case ActivationKind::kSigmoid:
      return Eltwise{dnnl::algorithm::eltwise_logistic, 0, 0};
    case ActivationKind::kTanh:
      return Eltwise{dnnl::algorithm::eltwise_tanh, 0, 0};
    case ActivationKind::kClip:
      return Eltwise{dnnl::algorithm::eltwise_clip, activation.alpha, activation.beta};
    case ActivationKind::kGelu:
      return Eltwise{dnnl::algorithm::eltwise_gelu_erf, 0, 0};
    case ActivationKind::kGeluTanh:
      return Eltwise{dnnl::algorithm::eltwise_gelu_tanh, 0, 0};
    case ActivationKind::kAbs:
      return Eltwise{dnnl::algorithm::eltwise_abs, 0, 0};
    case ActivationKind::kHardSwish:
      return Eltwise{dnnl::algorithm::eltwise_hardswish, 0, 0};
    case ActivationKind::kMish:
      return Eltwise{dnnl::algorithm::eltwise_mish, 0, 0};
    case ActivationKind::kSwish:
      return Eltwise{dnnl::algorithm::eltwise_swish, activation.alpha, 0};
    case ActivationKind::kNeg:
      return Eltwise{dnnl::algorithm::eltwise_linear, -1, -0.0F};  // plus 0 would make -0 of 0 a 0
    case ActivationKind::kSqrt:
      return Eltwise{dnnl::algorithm::eltwise_sqrt, 0, 0};
    case ActivationKind::kExp:
      return Eltwise{dnnl::algorithm::eltwise_exp, 0, 0};
    // Not kLog, off by 1e-6 where the logarithm is nearly 0, and kSoftplus, off by 1% where the result is small.
    default:
      return std::nullopt;
  }
}

dnnl::primitive_attr scratchpad_only() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

namespace {

/// What the library computes for a function, in turn; empty where it has no way.
std::vector<Eltwise> steps_of(const Activation& activation) {
  if (activation.kind == ActivationKind::kFakeQuantize)
    return {{dnnl::algorithm::eltwise_linear, 1 / activation.alpha, 0},
            {dnnl::algorithm::eltwise_round, 0, 0},
            {dnnl::algorithm::eltwise_clip, activation.beta, activation.beta + 255, activation.alpha}};
  const std::optional<Eltwise> function = eltwise(activation);
  return function ? std::vector<Eltwise>{*function} : std::vector<Eltwise>{};
}

void append(const Eltwise& function, dnnl::post_ops& post_ops) {
  post_ops.append_eltwise(function.scale, function.algorithm, function.alpha, function.beta);
}

/// Whether the library mixes up two functions of the chain: oneDNN 2.6 computes each with the parameters of the first
/// of its algorithm.
bool mixes_up(const std::vector<PostOp>& chain) {
  std::vector<Eltwise> functions;
  for (const PostOp& post_op : chain) {
    const auto* const activation = std::get_if<Activation>(&post_op);
    if (activation == nullptr) continue;
    for (const Eltwise& function : steps_of(*activation)) {
      for (const Eltwise& other : functions) {
        if (other.algorithm == function.algorithm && other != function) return true;
      }
      functions.push_back(function);
    }
  }
  return false;
}

}  // namespace

std::optional<Descriptor> as_it_lies(const View& view) { return describe(view); }

void append_levels(const Activation& fake_quantize, dnnl::post_ops& post_ops) {
  const std::vector<Eltwise> steps = steps_of(fake_quantize);
  for (std::size_t i = 1; i < steps.size(); ++i) append(steps[i], post_ops);
}

std::optional<PostOps> make_post_ops(const OpCall& call, const Presentation& present, dnnl::post_ops post_ops,
                                     std::vector<Binding> bindings) {
  if (mixes_up(call.post_ops)) return std::nullopt;
  for (const PostOp& post_op : call.post_ops) {
    if (const auto* const activation = std::get_if<Activation>(&post_op)) {
      const std::vector<Eltwise> functions = steps_of(*activation);
      if (functions.empty()) return std::nullopt;
      for (const Eltwise& function : functions) append(function, post_ops);
      continue;
    }
    const std::size_t input = std::get<AddOperand>(post_op).operand;
    const auto* const view = std::get_if<View>(&call.inputs[input]);
    if (view == nullptr) return std::nullopt;
    if (*view == call.outputs[0]) {
      // The output holds the operand: only a sum reads it before it is overwritten.
      post_ops.append_sum(1.0F);
      continue;
    }
    std::optional<Descriptor> descriptor = present(*view);
    if (!descriptor) return std::nullopt;
    const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1;
    post_ops.append_binary(dnnl::algorithm::binary_add, *descriptor);
    bindings.push_back(bind_input(argument, input, *descriptor));
  }
  PostOps result{scratchpad_only(), std::move(bindings)};
  result.attributes.set_post_ops(post_ops);
  return result;
}

std::optional<PostOps> make_post_ops(const OpCall& call) { return make_post_ops(call, as_it_lies); }

}  // namespace cohort::onednn
