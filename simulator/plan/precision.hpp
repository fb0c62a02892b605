#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "simulator/plan/data_type.hpp"

namespace cohort {

/// The precision that the ops of a plan compute in. Sums are always in float32. Inputs and outputs of members are
/// float32, and are converted once if the type differs.
enum class Precision {
  kFloat32,
  kTf32,      ///< float32 in memory; products may round their operands to 10 bits of mantissa
  kBfloat16,  ///< 7 bits of mantissa, the range of float32
  kFloat16,   ///< 10 bits of mantissa, up to 65504
};
std::string_view to_string(Precision precision);
/// Errors: kInvalidInput with the known ones.
Result<Precision> precision_from(std::string_view text);

std::string_view to_string(DataType type);
constexpr DataType storage_of(Precision precision) {
  return precision == Precision::kBfloat16  ? DataType::kBfloat16
         : precision == Precision::kFloat16 ? DataType::kFloat16
                                            : DataType::kFloat32;
}

/// Tolerance of a member's results against those it computes alone in float32, relative to its largest output. float32:
/// sums of some thousand products in another order. Others: 16 roundings of an operand, of 2^-11 (tf32, float16) or
/// 2^-8 (bfloat16), which networks of some tens of layers stay below.
constexpr double tolerance_of(Precision precision) {
  return precision == Precision::kFloat32 ? 2e-4 : precision == Precision::kBfloat16 ? 16.0 / 256 : 16.0 / 2048;
}

/// The signature under which a call is recorded: "Gemm ... in bfloat16"; float32 is not mentioned.
std::string signature_in(Precision precision, std::string signature);

/// Errors: kInvalidInput listing the supported ones if `asked` is not among them.
Result<void> check_precision(Precision asked, std::span<const Precision> available);

}  // namespace cohort
