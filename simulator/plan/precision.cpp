#include "simulator/plan/precision.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cohort {
namespace {

constexpr std::array<std::pair<Precision, std::string_view>, 4> kPrecisionNames = {{
    {Precision::kFloat32, "float32"},
    {Precision::kTf32, "tf32"},
    {Precision::kBfloat16, "bfloat16"},
    {Precision::kFloat16, "float16"},
}};

}  // namespace

std::string_view to_string(Precision precision) {
  return std::find_if(kPrecisionNames.begin(), kPrecisionNames.end(),
                      [&](const auto& entry) { return entry.first == precision; })
      ->second;
}

std::string_view to_string(DataType type) {
  return type == DataType::kBfloat16 ? "bfloat16" : type == DataType::kFloat16 ? "float16" : "float32";
}

Result<Precision> precision_from(std::string_view text) {
  std::string known;
  for (const auto& [precision, name] : kPrecisionNames) {
    if (name == text) return precision;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return fail(ErrorCode::kInvalidInput, "there is no precision {}; known are {}", text, known);
}

std::string signature_in(Precision precision, std::string signature) {
  if (precision != Precision::kFloat32) signature += fmt::format(" in {}", to_string(precision));
  return signature;
}

Result<void> check_precision(Precision asked, std::span<const Precision> available) {
  std::string can;
  for (const Precision precision : available) {
    if (precision == asked) return {};
    can += fmt::format("{}{}", can.empty() ? "" : ", ", to_string(precision));
  }
  return fail(ErrorCode::kInvalidInput, "precision: {} is not there on this device, which computes in {}",
              to_string(asked), can);
}

}  // namespace cohort
