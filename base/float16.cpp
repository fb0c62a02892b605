#include "base/float16.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cohort {

float float16_value(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * 0x1p-24F, std::bit_cast<float>(sign));
  const std::uint32_t widened = exponent == 0x1fU ? 0xffU : exponent + 112;
  return std::bit_cast<float>(sign | (widened << 23U) | (mantissa << 13U));
}

float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::uint32_t>(bits) << 16U));
}

float rounded_to_float16(float value) {
  constexpr float kEnd = 65520;  // rounds to 2^16, which the type does not have
  if (!std::isfinite(value) || value == 0) return value;
  if (std::abs(value) >= kEnd) return std::copysign(std::numeric_limits<float>::infinity(), value);
  const float step = std::ldexp(1.0F, std::max(std::ilogb(value) - 10, -24));
  return std::copysign(std::nearbyint(value / step) * step, value);
}

float rounded_to_bfloat16(float value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16U) & 1U);
  return std::bit_cast<float>(rounded & 0xffff0000U);
}

}  // namespace cohort
