#include "models/op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cohort {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

std::string canonical_window(const Window& window) {
  return fmt::format("kernel={} stride={} pad={}+{} dilation={}", fmt::join(window.kernel, "x"),
                     fmt::join(window.stride, "x"), fmt::join(window.pad_begin, "x"), fmt::join(window.pad_end, "x"),
                     fmt::join(window.dilation, "x"));
}

std::string_view activation_name(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kRelu:
      return "Relu";
    case ActivationKind::kLeakyRelu:
      return "LeakyRelu";
    case ActivationKind::kElu:
      return "Elu";
    case ActivationKind::kSigmoid:
      return "Sigmoid";
    case ActivationKind::kTanh:
      return "Tanh";
    case ActivationKind::kClip:
      return "Clip";
  }
  return "Activation";
}

std::string_view binary_name(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return "Add";
    case BinaryKind::kSub:
      return "Sub";
    case BinaryKind::kMul:
      return "Mul";
    case BinaryKind::kDiv:
      return "Div";
  }
  return "Binary";
}

std::string canonical_activation(const Activation& activation) {
  const std::string_view name = activation_name(activation.kind);
  switch (activation.kind) {
    case ActivationKind::kLeakyRelu:
    case ActivationKind::kElu:
      return fmt::format("{} alpha={}", name, activation.alpha);
    case ActivationKind::kClip:
      return fmt::format("{} from={} to={}", name, activation.alpha, activation.beta);
    default:
      return std::string(name);
  }
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return INT64_MAX;
  }
  return count;
}

Result<void> check_shape(const Shape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1)
      return fail(ErrorCode::kInvalidInput, "dimension {} of shape {} must be at least 1", i, to_string(shape));
  }
  if (element_count(shape) > kMostElements)
    return fail(ErrorCode::kInvalidInput, "shape {} has more than 2^40 elements", to_string(shape));
  return {};
}

std::string to_string(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string_view op_type(const OpAttributes& attributes) {
  return std::visit(
      Overloaded{
          [](const Convolution&) -> std::string_view { return "Convolution"; },
          [](const Pool& pool) -> std::string_view { return pool.kind == PoolKind::kMax ? "MaxPool" : "AveragePool"; },
          [](const Gemm&) -> std::string_view { return "Gemm"; },
          [](const BatchNormalization&) -> std::string_view { return "BatchNormalization"; },
          [](const LocalResponseNormalization&) -> std::string_view { return "LocalResponseNormalization"; },
          [](const Activation& activation) { return activation_name(activation.kind); },
          [](const Binary& binary) { return binary_name(binary.kind); },
          [](const Concat&) -> std::string_view { return "Concat"; },
          [](const Softmax&) -> std::string_view { return "Softmax"; },
          [](const Reshape&) -> std::string_view { return "Reshape"; },
          [](const Lstm&) -> std::string_view { return "Lstm"; },
      },
      attributes);
}

std::string canonical(const OpAttributes& attributes, const std::vector<PostOp>& post_ops) {
  const std::string_view type = op_type(attributes);
  std::string text =
      std::visit(Overloaded{
                     [&](const Convolution& c) {
                       return fmt::format("{} {} groups={}", type, canonical_window(c.window), c.groups);
                     },
                     [&](const Pool& p) {
                       return fmt::format("{} {}{}{}", type, canonical_window(p.window), p.ceil_mode ? " ceil" : "",
                                          p.count_include_pad ? " count_pad" : "");
                     },
                     [&](const Gemm& g) { return fmt::format("{}{}", type, g.stacked ? " stacked" : ""); },
                     [&](const BatchNormalization& b) { return fmt::format("{} epsilon={}", type, b.epsilon); },
                     [&](const LocalResponseNormalization& l) {
                       return fmt::format("{} size={} alpha={} beta={} bias={}", type, l.size, l.alpha, l.beta, l.bias);
                     },
                     [&](const Activation& a) { return canonical_activation(a); },
                     [&](const Binary&) { return std::string(type); },
                     [&](const Concat& c) { return fmt::format("{} axis={}", type, c.axis); },
                     [&](const Softmax& s) { return fmt::format("{} axis={}", type, s.axis); },
                     [&](const Reshape&) { return std::string(type); },
                     [&](const Lstm& l) { return fmt::format("{} hidden={}", type, l.hidden); },
                 },
                 attributes);
  for (const PostOp& post_op : post_ops) {
    text += " + ";
    text += std::visit(Overloaded{
                           [](const AddOperand& add) { return fmt::format("Add({})", add.operand); },
                           [](const Activation& a) { return canonical_activation(a); },
                       },
                       post_op);
  }
  return text;
}

}  // namespace cohort
