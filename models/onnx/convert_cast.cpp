#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

bool is_rounding(const Op* op) {
  const auto* const activation = op != nullptr ? std::get_if<Activation>(&op->attributes) : nullptr;
  return activation != nullptr &&
         (activation->kind == ActivationKind::kRound || activation->kind == ActivationKind::kFloor ||
          activation->kind == ActivationKind::kCeil);
}

/// Whether what `op`, null or not, computes lies between two whole numbers for all inputs.
bool is_within(const NodeImport& node, const Op* op, float least, float most) {
  if (op == nullptr) return false;
  if (is_rounding(op)) return is_within(node, node.writer_of(op->inputs[0]), least, most);
  if (const auto* const activation = std::get_if<Activation>(&op->attributes))
    return activation->kind == ActivationKind::kClip && activation->alpha >= least && activation->beta >= least &&
           activation->beta <= most;
  const auto* const binary = std::get_if<Binary>(&op->attributes);
  return binary != nullptr && is_predicate(binary->kind);  // 0 or 1
}

/// Input 0 as whole numbers of `range`, in float32: rounded towards zero, and those outside wrap around.
Result<TensorId> narrowed(NodeImport& node, const Range& range) {
  constexpr auto kWhole = ElementType::kInt32;
  const int count = 1 << range.bits;
  const int least = range.is_signed ? -count / 2 : 0;
  COHORT_TRY(TensorId y, node.tensor(0));
  const Op* const writer = node.writer_of(y);
  const bool fits = is_within(node, writer, static_cast<float>(least), static_cast<float>(least + count - 1));
  if (node.element_of(y) != kWhole) {
    if (fits && is_rounding(writer)) return y;
    if (fits && least == 0) return node.emit("", Activation{ActivationKind::kFloor}, {y});
    COHORT_TRY(y, node.emit("whole", Cast{ElementType::kFloat32, kWhole, false}, {y}));
  }
  if (!fits) {
    const TensorId modulus = node.scalar("modulus", static_cast<float>(count), kWhole);
    const TensorId offset = node.scalar("offset", static_cast<float>(count - least), kWhole);
    COHORT_TRY(y, node.emit("remainder", Binary{BinaryKind::kMod, kWhole}, {y, modulus}));
    COHORT_TRY(y, node.emit("above_zero", Binary{BinaryKind::kAdd, kWhole}, {y, offset}));
    COHORT_TRY(y, node.emit("wrapped", Binary{BinaryKind::kMod, kWhole}, {y, modulus}));
    if (least != 0) {
      const TensorId lowest = node.scalar("least", static_cast<float>(least), kWhole);
      COHORT_TRY(y, node.emit("moved", Binary{BinaryKind::kAdd, kWhole}, {y, lowest}));
    }
  }
  return node.emit("", Cast{kWhole, ElementType::kFloat32, false}, {y});
}

/// The type that a CastLike casts to, or one that a model holds in the same way.
Result<std::int64_t> type_like(NodeImport& node, ElementType from) {
  COHORT_TRY(const ElementType like, node.element(1));
  if (const std::int64_t whole = node.whole_type(1); whole != 0) return whole;
  if (like == ElementType::kFloat32) return Type::kFloat;
  if (node.is_truth(1)) return Type::kBool;
  if (like != from) return fail(ErrorCode::kInvalidInput, "is supported to float32 only");
  return Type::kInt64;
}

}  // namespace

Result<void> convert_cast(NodeImport& node) {
  COHORT_TRY(const ElementType from, node.element(0));
  std::int64_t to = Type::kFloat;
  if (node.op_type() == "CastLike") {
    COHORT_TRY(to, type_like(node, from));
  } else {
    COHORT_TRY(to, node.integer("to", 0));
  }
  node.ignore("saturate");    // of 8-bit floating point
  node.ignore("round_mode");  // likewise
  const auto target = element_of_type(to);
  if (!target)
    return fail(
        ErrorCode::kInvalidInput,
        "to {} is not supported, only to floating-point numbers of 16 to 64 bits, which are computed in float32, "
        "whole numbers of 8 and 16 bits, int32, int64 and bool",
        type_name(to));
  if (is_narrow(to)) {
    COHORT_TRY(const TensorId y, narrowed(node, *range_of(to)));
    node.set_result(y);
    return {};
  }
  const Constant* const constant = node.constant(0);
  if (*target == ElementType::kFloat32 && constant != nullptr && constant->integers() != nullptr) {
    COHORT_CHECK(node.claim(element_count(constant->shape)));
    node.set_alias(make_constant(constant->shape, floats_of(*constant)));
    return {};
  }
  if (*target == from && to != Type::kBool) return convert_identity(node);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Cast{from, *target, to == Type::kBool}, {x}));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
