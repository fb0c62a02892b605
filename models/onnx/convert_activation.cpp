#include <algorithm>
#include <iterator>
#include <limits>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// An op that is one function of one tensor, and its attributes with their defaults.
struct Unary {
  std::string_view op_type;
  ActivationKind kind;
  const char* alpha_name = nullptr;
  float alpha = 0;
  const char* beta_name = nullptr;
  float beta = 0;
};

constexpr Unary kUnaries[] = {
    {"Abs", ActivationKind::kAbs},
    {"Acos", ActivationKind::kAcos},
    {"Acosh", ActivationKind::kAcosh},
    {"Asin", ActivationKind::kAsin},
    {"Asinh", ActivationKind::kAsinh},
    {"Atan", ActivationKind::kAtan},
    {"Atanh", ActivationKind::kAtanh},
    {"Ceil", ActivationKind::kCeil},
    {"Celu", ActivationKind::kCelu, "alpha", 1.0F},
    {"Cos", ActivationKind::kCos},
    {"Cosh", ActivationKind::kCosh},
    {"Elu", ActivationKind::kElu, "alpha", 1.0F},
    {"Erf", ActivationKind::kErf},
    {"Exp", ActivationKind::kExp},
    {"Floor", ActivationKind::kFloor},
    {"HardSigmoid", ActivationKind::kHardSigmoid, "alpha", 0.2F, "beta", 0.5F},
    {"HardSwish", ActivationKind::kHardSwish},
    {"LeakyRelu", ActivationKind::kLeakyRelu, "alpha", 0.01F},
    {"Log", ActivationKind::kLog},
    {"Mish", ActivationKind::kMish},
    {"Neg", ActivationKind::kNeg},
    {"Reciprocal", ActivationKind::kReciprocal},
    {"Relu", ActivationKind::kRelu},
    {"Round", ActivationKind::kRound},
    {"Selu", ActivationKind::kSelu, "alpha", 1.67326319217681884765625F, "gamma", 1.05070102214813232421875F},
    {"Sigmoid", ActivationKind::kSigmoid},
    {"Sign", ActivationKind::kSign},
    {"Sin", ActivationKind::kSin},
    {"Sinh", ActivationKind::kSinh},
    {"Softplus", ActivationKind::kSoftplus},
    {"Softsign", ActivationKind::kSoftsign},
    {"Sqrt", ActivationKind::kSqrt},
    {"Swish", ActivationKind::kSwish, "alpha", 1.0F},
    {"Tanh", ActivationKind::kTanh},
    {"ThresholdedRelu", ActivationKind::kThresholdedRelu, "alpha", 1.0F},
};

Result<void> emit_activation(NodeImport& node, Activation activation) {
  node.ignore("consumed_inputs");
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", activation, {x}));
  node.set_result(y);
  return {};
}

Result<TensorId> whole_negative(NodeImport& node, std::string_view suffix, TensorId x) {
  return binary(node, suffix, BinaryKind::kSub, node.scalar("zero", 0, ElementType::kInt32), x, ElementType::kInt32);
}

Result<TensorId> whole_sign(NodeImport& node, TensorId x) {
  const TensorId one = node.scalar("one", 1, ElementType::kInt32);
  const TensorId minus_one = node.scalar("minus_one", -1, ElementType::kInt32);
  COHORT_TRY(const TensorId raised, binary(node, "raised", BinaryKind::kMax, x, minus_one, ElementType::kInt32));
  return binary(node, "", BinaryKind::kMin, raised, one, ElementType::kInt32);
}

/// Neg, Abs and Sign of whole numbers.
Result<void> emit_whole(NodeImport& node) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.op_type() == "Abs"    ? whole_size(node, "", x)
                               : node.op_type() == "Sign" ? whole_sign(node, x)
                                                          : whole_negative(node, "", x));
  node.set_result(y);
  return {};
}

/// A bound of Clip as one number; nothing where it is only known at run time.
Result<std::optional<float>> bound(NodeImport& node, const std::string& attribute, std::size_t input, float otherwise) {
  if (node.opset() < 11) {
    COHORT_TRY(const float number, node.number(attribute, otherwise));
    return std::optional<float>(number);
  }
  if (!node.has_input(input)) return std::optional<float>(otherwise);
  const Constant* value = node.needed_constant(input);
  if (value == nullptr || value->floats() == nullptr) return std::optional<float>();
  if (value->floats()->size() != 1)
    return fail(ErrorCode::kInvalidInput, "{} must be one number, not {}", attribute, to_string(value->shape));
  return std::optional<float>(value->floats()->front());
}

/// Clip with bounds that are whole numbers or come about at run time.
Result<void> clip_by_tensors(NodeImport& node) {
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(TensorId y, node.tensor(0));
  const bool has_high = node.has_input(2);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!node.has_input(i)) continue;
    COHORT_TRY(const Shape shape, node.shape(i));
    if (element_count(shape) != 1)
      return fail(ErrorCode::kInvalidInput, "bounds must be one number, not {}", to_string(shape));
    COHORT_TRY(const TensorId limit, node.tensor(i));
    const bool is_last = i == 2 || !has_high;
    COHORT_TRY(
        y, node.emit(is_last ? "" : "low", Binary{i == 1 ? BinaryKind::kMax : BinaryKind::kMin, element}, {y, limit}));
  }
  node.set_result(y);
  return {};
}

}  // namespace

Result<TensorId> whole_size(NodeImport& node, std::string_view suffix, TensorId x) {
  COHORT_TRY(const TensorId negative, whole_negative(node, "negative", x));
  return binary(node, suffix, BinaryKind::kMax, x, negative, ElementType::kInt32);
}

Result<void> convert_unary(NodeImport& node) {
  const auto* const found = std::find_if(std::begin(kUnaries), std::end(kUnaries),
                                         [&](const Unary& unary) { return unary.op_type == node.op_type(); });
  COHORT_TRY(const ElementType element, node.element(0));
  const bool has_whole = found->kind == ActivationKind::kNeg || found->kind == ActivationKind::kAbs ||
                         found->kind == ActivationKind::kSign;
  if (element != ElementType::kFloat32 && has_whole) return emit_whole(node);
  Activation activation{found->kind, 0, 0};
  if (found->alpha_name != nullptr) {
    COHORT_TRY(activation.alpha, node.number(found->alpha_name, found->alpha));
  }
  if (found->beta_name != nullptr) {
    COHORT_TRY(activation.beta, node.number(found->beta_name, found->beta));
  }
  return emit_activation(node, activation);
}

Result<void> convert_gelu(NodeImport& node) {
  const Result<std::string> approximate = node.text("approximate", "none");
  if (!approximate) return tl::unexpected<Error>(approximate.error());
  if (*approximate == "none") return emit_activation(node, {ActivationKind::kGelu, 0, 0});
  if (*approximate == "tanh") return emit_activation(node, {ActivationKind::kGeluTanh, 0, 0});
  return fail(ErrorCode::kInvalidInput, "attribute approximate must be none or tanh, not {}", *approximate);
}

/// x + bias below -lambd, x - bias above lambd, else 0.
Result<void> convert_shrink(NodeImport& node) {
  COHORT_TRY(const float lambd, node.number("lambd", 0.5F));
  COHORT_TRY(const float bias_value, node.number("bias", 0));
  COHORT_TRY(const TensorId x, node.tensor(0));
  const TensorId bias = node.scalar("bias", bias_value);
  COHORT_TRY(const TensorId below, node.emit("below", Binary{BinaryKind::kLess}, {x, node.scalar("low", -lambd)}));
  COHORT_TRY(const TensorId above, node.emit("above", Binary{BinaryKind::kGreater}, {x, node.scalar("high", lambd)}));
  COHORT_TRY(const TensorId raised, node.emit("raised", Binary{BinaryKind::kAdd}, {x, bias}));
  COHORT_TRY(const TensorId lowered, node.emit("lowered", Binary{BinaryKind::kSub}, {x, bias}));
  COHORT_TRY(const TensorId upper, node.emit("upper", Select{}, {above, lowered, node.scalar("zero", 0)}));
  COHORT_TRY(const TensorId y, node.emit("", Select{}, {below, raised, upper}));
  node.set_result(y);
  return {};
}

Result<void> convert_tan(NodeImport& node) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId sine, node.emit("sine", Activation{ActivationKind::kSin, 0, 0}, {x}));
  COHORT_TRY(const TensorId cosine, node.emit("cosine", Activation{ActivationKind::kCos, 0, 0}, {x}));
  COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kDiv}, {sine, cosine}));
  node.set_result(y);
  return {};
}

/// Only what is no number differs from itself.
Result<void> convert_is_nan(NodeImport& node) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId equal, node.emit("equal", Binary{BinaryKind::kEqual}, {x, x}));
  const TensorId zero = node.scalar("zero", 0, ElementType::kInt32);
  COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kEqual, ElementType::kInt32}, {equal, zero}));
  node.set_result(y);
  return {};
}

Result<void> convert_is_inf(NodeImport& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  COHORT_TRY(const std::int64_t negative, node.integer("detect_negative", 1));
  COHORT_TRY(const std::int64_t positive, node.integer("detect_positive", 1));
  COHORT_TRY(TensorId x, node.tensor(0));
  if (negative != 0 && positive != 0) {
    COHORT_TRY(x, node.emit("size", Activation{ActivationKind::kAbs, 0, 0}, {x}));
  }
  // Where neither is asked for, nothing is greater than infinity.
  const BinaryKind kind = negative == 0 && positive == 0 ? BinaryKind::kGreater : BinaryKind::kEqual;
  const TensorId limit = node.scalar("infinity", negative != 0 && positive == 0 ? -kInfinity : kInfinity);
  COHORT_TRY(const TensorId y, node.emit("", Binary{kind}, {x, limit}));
  node.set_result(y);
  return {};
}

Result<void> convert_clip(NodeImport& node) {
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(const auto low, bound(node, "min", 1, std::numeric_limits<float>::lowest()));
  COHORT_TRY(const auto high, bound(node, "max", 2, std::numeric_limits<float>::max()));
  const bool has_bounds = node.has_input(1) || node.has_input(2);
  if (element != ElementType::kFloat32 && !has_bounds) return convert_identity(node);
  if (element != ElementType::kFloat32 || !low || !high) return clip_by_tensors(node);
  return emit_activation(node, {ActivationKind::kClip, *low, *high});
}

}  // namespace cohort::onnx
