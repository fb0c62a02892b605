#include <algorithm>
#include <cmath>
#include <iterator>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

constexpr std::pair<std::string_view, BinaryKind> kBinaries[] = {
    {"Add", BinaryKind::kAdd},         {"And", BinaryKind::kAnd},
    {"Div", BinaryKind::kDiv},         {"Equal", BinaryKind::kEqual},
    {"Greater", BinaryKind::kGreater}, {"GreaterOrEqual", BinaryKind::kGreaterOrEqual},
    {"Less", BinaryKind::kLess},       {"LessOrEqual", BinaryKind::kLessOrEqual},
    {"Max", BinaryKind::kMax},         {"Mean", BinaryKind::kAdd},
    {"Min", BinaryKind::kMin},         {"Mul", BinaryKind::kMul},
    {"Or", BinaryKind::kOr},           {"PRelu", BinaryKind::kPRelu},
    {"Sub", BinaryKind::kSub},         {"Sum", BinaryKind::kAdd},
    {"Xor", BinaryKind::kXor},
};

BinaryKind kind_of(std::string_view op_type) {
  return std::find_if(std::begin(kBinaries), std::end(kBinaries),
                      [&](const auto& each) { return each.first == op_type; })
      ->second;
}

/// Input 1 as a tensor of the shape that broadcasts as numpy does.
Result<TensorId> second_operand(NodeImport& node, const Shape& a) {
  COHORT_TRY(const Shape b, node.shape(1));
  COHORT_TRY(const Shape aligned, aligned_operand(node, a, b));
  COHORT_TRY(const ElementType element, node.element(0));
  const Constant* const given = node.constant(1);
  if (element == ElementType::kFloat32 && given != nullptr && given->integers() != nullptr) {
    // A quantised op has left whole numbers in float32.
    COHORT_CHECK(node.claim(element_count(b)));
    return node.weight(1, aligned, floats_of(*given));
  }
  if (aligned == b) return node.tensor(1);
  if (const Constant* constant = node.constant(1); constant != nullptr && constant->floats() != nullptr) {
    COHORT_CHECK(node.claim(element_count(b)));
    return node.weight(1, aligned, *constant->floats());
  }
  COHORT_TRY(const TensorId operand, node.tensor(1));
  return node.emit_reshape("aligned", operand, aligned);
}

/// A remainder of `divisor` that has the sign of the dividend, with the sign of the divisor.
Result<TensorId> with_sign_of(NodeImport& node, TensorId remainder, TensorId divisor, ElementType element) {
  constexpr auto kWhole = ElementType::kInt32;
  const TensorId zero = node.scalar("zero", 0, element);
  COHORT_TRY(const TensorId below, node.emit("below", Binary{BinaryKind::kLess, element}, {remainder, zero}));
  COHORT_TRY(const TensorId negative, node.emit("negative", Binary{BinaryKind::kLess, element}, {divisor, zero}));
  COHORT_TRY(const TensorId differs, node.emit("differs", Binary{BinaryKind::kXor, kWhole}, {below, negative}));
  COHORT_TRY(const TensorId raised, node.emit("raised", Binary{BinaryKind::kAdd, element}, {remainder, divisor}));
  COHORT_TRY(const TensorId chosen, node.emit("chosen", Select{element}, {differs, raised, remainder}));
  COHORT_TRY(const TensorId none, node.emit("none", Binary{BinaryKind::kEqual, element}, {remainder, zero}));
  COHORT_TRY(const TensorId signed_zero,
             node.emit("signed_zero", Select{element}, {negative, node.scalar("below_zero", -0.0F, element), zero}));
  return node.emit("", Select{element}, {none, signed_zero, chosen});
}

}  // namespace

Result<TensorId> as_float(NodeImport& node, std::size_t i) {
  if (const Constant* constant = node.constant(i); constant != nullptr && constant->integers() != nullptr) {
    COHORT_CHECK(node.claim(element_count(constant->shape)));
    return node.weight(i, constant->shape, floats_of(*constant));
  }
  COHORT_TRY(const TensorId x, node.tensor(i));
  if (node.element_of(x) == ElementType::kFloat32) return x;
  return node.emit(fmt::format("float{}", i), Cast{ElementType::kInt32, ElementType::kFloat32, false}, {x});
}

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

Result<void> convert_binary(NodeImport& node) {
  node.ignore("consumed_inputs");
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(ElementType element, node.element(0));
  COHORT_TRY(const ElementType other, node.element(1));
  // Sums of a quantised product are whole numbers in float32, and so is then what is computed with them.
  const bool first_joins = other != element && node.whole_type(1) != 0;
  const bool second_joins = other != element && node.whole_type(0) != 0;
  if (first_joins) element = other;
  COHORT_TRY(const TensorId x, first_joins ? as_float(node, 0) : node.tensor(0));
  COHORT_TRY(const TensorId operand,
             second_joins&& node.constant(1) == nullptr ? as_float(node, 1) : second_operand(node, a));
  COHORT_TRY(const TensorId y, node.emit("", Binary{kind_of(node.op_type()), element}, {x, operand}));
  node.set_result(y);
  return {};
}

/// The slope has one value per channel in opset 6, and broadcasts to x since.
Result<void> convert_prelu(NodeImport& node) {
  node.ignore("consumed_inputs");
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape slope, node.shape(1));
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(TensorId operand, node.tensor(1));
  const bool per_channel = node.opset() < 7 && slope.size() == 1 && slope[0] != 1 && x.size() > 2;
  if (per_channel) {
    Shape aligned(x.size() - 1, 1);
    aligned[0] = slope[0];
    COHORT_TRY(operand, node.emit_reshape("aligned", operand, std::move(aligned)));
  }
  COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kPRelu}, {from, operand}));
  if (node.shape_of(y) != x)
    return fail(ErrorCode::kInvalidInput, "slope {} does not repeat to {}", to_string(slope), to_string(x));
  node.set_result(y);
  return {};
}

/// Whether the input is a constant of floating-point numbers that are whole and not below zero.
bool is_whole_exponent(const NodeImport& node, std::size_t i) {
  const Constant* const constant = node.constant(i);
  if (constant == nullptr || constant->floats() == nullptr) return false;
  const std::vector<float>& values = *constant->floats();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return value >= 0 && value <= 0x1p24F && value == std::floor(value); });
}

/// Base and exponent may be of different types; the result has the base's.
Result<void> convert_pow(NodeImport& node) {
  COHORT_TRY(const ElementType base, node.element(0));
  COHORT_TRY(const ElementType exponent, node.element(1));
  if (base == exponent && (base == ElementType::kInt32 || node.opset() >= 7)) {
    COHORT_TRY(const TensorId a, node.tensor(0));
    COHORT_TRY(const TensorId b, node.tensor(1));
    COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kPow, base}, {a, b}));
    node.set_result(y);
    return {};
  }
  if (base == ElementType::kInt32 && node.opset() >= 7 && is_whole_exponent(node, 1)) {
    const Constant& given = *node.constant(1);
    COHORT_TRY(const TensorId a, node.tensor(0));
    COHORT_TRY(const TensorId b, node.made_weight("exponent", given.shape, *given.floats(), base));
    COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kPow, base}, {a, b}));
    node.set_result(y);
    return {};
  }
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const TensorId a, as_float(node, 0));
  COHORT_TRY(TensorId b, as_float(node, 1));
  COHORT_TRY(const Shape aligned, aligned_operand(node, shape, node.shape_of(b)));
  if (aligned != node.shape_of(b)) {
    COHORT_TRY(b, node.emit_reshape("aligned", b, aligned));
  }
  COHORT_TRY(TensorId y, node.emit(base == ElementType::kInt32 ? "float" : "", Binary{BinaryKind::kPow}, {a, b}));
  if (base == ElementType::kInt32) {
    COHORT_TRY(y, node.emit("", Cast{ElementType::kFloat32, ElementType::kInt32, false}, {y}));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_mod(NodeImport& node) {
  COHORT_TRY(const std::int64_t fmod, node.integer("fmod", 0));
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(const TensorId a, node.tensor(0));
  COHORT_TRY(const TensorId b, node.tensor(1));
  COHORT_TRY(TensorId y, node.emit(fmod != 0 ? "" : "remainder", Binary{BinaryKind::kMod, element}, {a, b}));
  if (fmod == 0) {
    COHORT_TRY(y, with_sign_of(node, y, b, element));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_variadic(NodeImport& node) {
  node.ignore("consumed_inputs");
  const bool is_mean = node.op_type() == "Mean";
  const std::size_t count = node.input_count();
  if (count == 1) return convert_identity(node);
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(TensorId y, node.tensor(0));
  for (std::size_t i = 1; i < count; ++i) {
    const bool is_last = i + 1 == count && !is_mean;
    COHORT_TRY(const TensorId operand, node.tensor(i));
    COHORT_TRY(y, node.emit(is_last ? std::string() : fmt::format("part{}", i),
                            Binary{kind_of(node.op_type()), element}, {y, operand}));
  }
  if (is_mean) {
    const TensorId divisor = node.scalar("count", static_cast<float>(count));
    COHORT_TRY(y, node.emit("", Binary{BinaryKind::kDiv}, {y, divisor}));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_not(NodeImport& node) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  const TensorId zero = node.scalar("zero", 0, ElementType::kInt32);
  COHORT_TRY(const TensorId y, node.emit("", Binary{BinaryKind::kEqual, ElementType::kInt32}, {x, zero}));
  node.set_result(y);
  return {};
}

Result<void> convert_where(NodeImport& node) {
  COHORT_TRY(const ElementType element, node.element(1));
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 3; ++i) {
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  COHORT_TRY(const TensorId y, node.emit("", Select{element}, std::move(inputs)));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
