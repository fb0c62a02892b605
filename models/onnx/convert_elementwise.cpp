#include <limits>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

Result<void> convert_activation(NodeImport& node, Activation activation) {
  node.ignore("consumed_inputs");
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", activation, {x}));
  node.set_result(y);
  return {};
}

/// A bound of Clip: an attribute before opset 11, a constant input since.
Result<float> bound(NodeImport& node, const std::string& attribute, std::size_t input, float otherwise) {
  if (node.opset() < 11) return node.number(attribute, otherwise);
  if (!node.has_input(input)) return otherwise;
  COHORT_TRY(const Constant* const value, node.floats(input, attribute));
  if (value->floats()->size() != 1)
    return fail(ErrorCode::kInvalidInput, "{} must be one number, not {}", attribute, to_string(value->shape));
  return value->floats()->front();
}

/// Input 1 as a tensor of the shape that broadcasts as numpy does.
Result<TensorId> second_operand(NodeImport& node, const Shape& a) {
  COHORT_TRY(const Shape b, node.shape(1));
  COHORT_TRY(const Shape aligned, aligned_operand(node, a, b));
  if (aligned == b) return node.tensor(1);
  if (const Constant* constant = node.constant(1); constant != nullptr && constant->floats() != nullptr) {
    COHORT_CHECK(node.claim(element_count(b)));
    return node.weight(1, aligned, *constant->floats());
  }
  COHORT_TRY(const TensorId operand, node.tensor(1));
  return node.emit_reshape("aligned", operand, aligned);
}

Result<void> convert_binary(NodeImport& node, BinaryKind kind) {
  node.ignore("consumed_inputs");
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId operand, second_operand(node, a));
  COHORT_TRY(const TensorId y, node.emit("", Binary{kind}, {x, operand}));
  node.set_result(y);
  return {};
}

}  // namespace

Result<Shape> aligned_operand(NodeImport& node, const Shape& a, const Shape& b) {
  if (node.opset() >= 7) return b;
  COHORT_TRY(const std::int64_t broadcast, node.integer("broadcast", 0));
  COHORT_TRY(const std::int64_t axis,
             node.integer("axis", static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size())));
  if (broadcast == 0) {
    if (a == b) return b;
    return fail(ErrorCode::kInvalidInput, "{} and {} differ, and attribute broadcast is not set", to_string(a),
                to_string(b));
  }
  if (element_count(b) == 1) return b;
  COHORT_TRY(const std::size_t first, normalize_axis(axis, a.size()));
  if (first + b.size() > a.size())
    return fail(ErrorCode::kInvalidInput, "{} does not fit into {} from axis {}", to_string(b), to_string(a), first);
  Shape aligned = b;
  aligned.resize(a.size() - first, 1);
  return aligned;
}

Result<void> convert_relu(NodeImport& node) { return convert_activation(node, {ActivationKind::kRelu, 0, 0}); }
Result<void> convert_sigmoid(NodeImport& node) { return convert_activation(node, {ActivationKind::kSigmoid, 0, 0}); }
Result<void> convert_tanh(NodeImport& node) { return convert_activation(node, {ActivationKind::kTanh, 0, 0}); }

Result<void> convert_leaky_relu(NodeImport& node) {
  COHORT_TRY(const float alpha, node.number("alpha", 0.01F));
  return convert_activation(node, {ActivationKind::kLeakyRelu, alpha, 0});
}

Result<void> convert_elu(NodeImport& node) {
  COHORT_TRY(const float alpha, node.number("alpha", 1));
  return convert_activation(node, {ActivationKind::kElu, alpha, 0});
}

Result<void> convert_clip(NodeImport& node) {
  COHORT_TRY(const float low, bound(node, "min", 1, std::numeric_limits<float>::lowest()));
  COHORT_TRY(const float high, bound(node, "max", 2, std::numeric_limits<float>::max()));
  return convert_activation(node, {ActivationKind::kClip, low, high});
}

Result<void> convert_add(NodeImport& node) { return convert_binary(node, BinaryKind::kAdd); }
Result<void> convert_sub(NodeImport& node) { return convert_binary(node, BinaryKind::kSub); }
Result<void> convert_mul(NodeImport& node) { return convert_binary(node, BinaryKind::kMul); }
Result<void> convert_div(NodeImport& node) { return convert_binary(node, BinaryKind::kDiv); }

Result<void> convert_sum(NodeImport& node) {
  node.ignore("consumed_inputs");
  if (node.input_count() == 1) return convert_identity(node);
  COHORT_TRY(TensorId sum, node.tensor(0));
  for (std::size_t i = 1; i < node.input_count(); ++i) {
    const bool is_last = i + 1 == node.input_count();
    COHORT_TRY(const TensorId operand, node.tensor(i));
    COHORT_TRY(sum,
               node.emit(is_last ? std::string() : fmt::format("sum{}", i), Binary{BinaryKind::kAdd}, {sum, operand}));
  }
  node.set_result(sum);
  return {};
}

}  // namespace cohort::onnx
