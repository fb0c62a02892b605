#pragma once

#include <cstdint>

namespace cohort {

/// The value of a number of 16 bits: IEEE's binary16, and bfloat16, the upper half of a float32.
float float16_value(std::uint16_t bits);
float bfloat16_value(std::uint16_t bits);

/// Such numbers as files store them.
struct Float16 {
  std::uint16_t bits = 0;
  explicit operator float() const { return float16_value(bits); }
};
struct Bfloat16 {
  std::uint16_t bits = 0;
  explicit operator float() const { return bfloat16_value(bits); }
};

/// The nearest number of those types, ties to even; infinity from where the type ends.
float rounded_to_float16(float value);
float rounded_to_bfloat16(float value);

}  // namespace cohort
