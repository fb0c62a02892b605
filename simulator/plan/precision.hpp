#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "simulator/plan/data_type.hpp"

namespace cohort {

/// What the ops of a plan compute in. Sums are in float32 in all of them; inputs and outputs of members are
/// float32, and converted once where the type is another.
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

/// Largest difference between what a member computes and what it computes alone in float32, as a share of its
/// largest output. float32: sums of some thousand products in another order. Others: 16 roundings of an operand, of
/// 2^-11 (tf32, float16) or 2^-8 (bfloat16), which networks of some tens of layers stay below.
constexpr double tolerance_of(Precision precision) {
  return precision == Precision::kFloat32 ? 2e-4 : precision == Precision::kBfloat16 ? 16.0 / 256 : 16.0 / 2048;
}

/// What a call of `signature` is recorded under: "Gemm ... in bfloat16"; float32 goes without saying.
std::string signature_in(Precision precision, std::string signature);

/// Errors: kInvalidInput naming what can be had, where `asked` is not among it.
Result<void> check_precision(Precision asked, std::span<const Precision> available);

}  // namespace cohort
