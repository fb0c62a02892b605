#include <cmath>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

// Bit by bit. Whole numbers of 8 and 16 bits lie in float32, and are combined as int32: signed ones extend their sign.

namespace cohort::onnx {

namespace {

constexpr auto kWhole = ElementType::kInt32;

/// The input as int32.
Result<TensorId> whole_operand(NodeImport& node, std::size_t i) {
  COHORT_TRY(const TensorId x, node.tensor(i));
  if (node.element_of(x) == kWhole) return x;
  if (node.whole_type(i) == 0) return fail(ErrorCode::kInvalidInput, "input {} does not hold whole numbers", i);
  return node.emit(fmt::format("whole{}", i), Cast{ElementType::kFloat32, kWhole, false}, {x});
}

/// The node's result, as its first input lies.
Result<void> give(NodeImport& node, BinaryKind kind, TensorId a, TensorId b) {
  COHORT_TRY(const ElementType element, node.element(0));
  const bool is_narrow = element != kWhole;
  COHORT_TRY(TensorId y, node.emit(is_narrow ? "bits" : "", Binary{kind, kWhole}, {a, b}));
  if (is_narrow) {
    COHORT_TRY(y, node.emit("", Cast{kWhole, ElementType::kFloat32, false}, {y}));
  }
  node.set_result(y);
  return {};
}

}  // namespace

Result<void> convert_bitwise(NodeImport& node) {
  const BinaryKind kind = node.op_type() == "BitwiseAnd"  ? BinaryKind::kBitwiseAnd
                          : node.op_type() == "BitwiseOr" ? BinaryKind::kBitwiseOr
                                                          : BinaryKind::kBitwiseXor;
  COHORT_TRY(const TensorId a, whole_operand(node, 0));
  COHORT_TRY(const TensorId b, whole_operand(node, 1));
  return give(node, kind, a, b);
}

/// All bits differ from those of -1, or of the largest number of an unsigned type.
Result<void> convert_bitwise_not(NodeImport& node) {
  COHORT_TRY(const TensorId a, whole_operand(node, 0));
  const auto range = range_of(node.whole_type(0));
  const float ones = range && !range->is_signed ? std::ldexp(1.0F, range->bits) - 1 : -1.0F;
  return give(node, BinaryKind::kBitwiseXor, a, node.scalar("ones", ones, kWhole));
}

/// Of unsigned numbers of 8 and 16 bits: times or by a power of two, less what leaves the type.
Result<void> convert_bit_shift(NodeImport& node) {
  COHORT_TRY(const std::string direction, node.text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return fail(ErrorCode::kInvalidInput, "direction must be LEFT or RIGHT, not \"{}\"", direction);
  const auto range = range_of(node.whole_type(0));
  if (!range || range->is_signed || range->bits > 16)
    return fail(ErrorCode::kInvalidInput, "is supported for unsigned numbers of 8 and 16 bits only");
  constexpr float kBits = 16;  // from so many on nothing is left
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(TensorId places, node.tensor(1));
  COHORT_TRY(places, node.emit("places", Binary{BinaryKind::kMin}, {places, node.scalar("most", kBits)}));
  COHORT_TRY(const TensorId factor, node.emit("factor", Binary{BinaryKind::kPow}, {node.scalar("two", 2), places}));
  TensorId y{};
  if (direction == "LEFT") {
    const TensorId count = node.scalar("count", std::ldexp(1.0F, range->bits));
    COHORT_TRY(const TensorId product, node.emit("product", Binary{BinaryKind::kMul}, {x, factor}));
    COHORT_TRY(y, node.emit("", Binary{BinaryKind::kMod}, {product, count}));
  } else {
    COHORT_TRY(const TensorId quotient, node.emit("quotient", Binary{BinaryKind::kDiv}, {x, factor}));
    COHORT_TRY(y, node.emit("", Activation{ActivationKind::kFloor}, {quotient}));
  }
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
