#include <cmath>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

// Bit by bit. Whole numbers of 8 and 16 bits lie in float32, and are combined as int32: signed ones extend their sign.

namespace cohort::onnx {

namespace {

/// What bits are combined in.
constexpr auto kBits = ElementType::kInt32;

/// The input as int32.
Result<TensorId> whole_operand(NodeImport& node, std::size_t i) {
  COHORT_TRY(const TensorId x, node.tensor(i));
  if (node.element_of(x) == kBits) return x;
  if (node.whole_type(i) == 0) return fail(ErrorCode::kInvalidInput, "input {} does not hold whole numbers", i);
  return node.emit(fmt::format("whole{}", i), Cast{ElementType::kFloat32, kBits, false}, {x});
}

/// The node's result: in float32 where an input is.
Result<void> give(NodeImport& node, BinaryKind kind, TensorId a, TensorId b) {
  bool in_float = false;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    COHORT_TRY(const ElementType element, node.element(i));
    in_float = in_float || element != kBits;
  }
  COHORT_TRY(TensorId y, node.emit(in_float ? "bits" : "", Binary{kind, kBits}, {a, b}));
  if (in_float) {
    COHORT_TRY(y, node.emit("", Cast{kBits, ElementType::kFloat32, false}, {y}));
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
  if (node.declared_type(0) == Type::kUint32) return fail(ErrorCode::kInvalidInput, "is not supported for uint32");
  COHORT_TRY(const TensorId a, whole_operand(node, 0));
  const auto range = range_of(node.whole_type(0));
  const float ones = range && !range->is_signed ? std::ldexp(1.0F, range->bits) - 1 : -1.0F;
  return give(node, BinaryKind::kBitwiseXor, a, node.scalar("ones", ones, kBits));
}

/// Of unsigned numbers of 8 and 16 bits: times or by a power of two, less what leaves the type.
Result<void> convert_bit_shift(NodeImport& node) {
  COHORT_TRY(const std::string direction, node.text("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return fail(ErrorCode::kInvalidInput, "direction must be LEFT or RIGHT, not \"{}\"", direction);
  const auto range = range_of(node.whole_type(0));
  if (!range || range->is_signed || range->bits > 16)
    return fail(ErrorCode::kInvalidInput, "is supported for unsigned numbers of 8 and 16 bits only");
  constexpr float kMost = 16;  // from so many on nothing is left
  COHORT_TRY(const TensorId x, as_float(node, 0));
  COHORT_TRY(TensorId places, as_float(node, 1));
  COHORT_TRY(places, node.emit("places", Binary{BinaryKind::kMin}, {places, node.scalar("most", kMost)}));
  COHORT_TRY(TensorId factor, node.emit("power", Binary{BinaryKind::kPow}, {node.scalar("two", 2), places}));
  COHORT_TRY(factor,
             node.emit("factor", Activation{ActivationKind::kRound}, {factor}));  // a GPU's may be off by a little
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
