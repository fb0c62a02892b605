#pragma once

#include <cstdint>
#include <cstring>

#include "simulator/plan/data_type.hpp"

#ifdef __CUDACC__
#define COHORT_BODY __host__ __device__ inline
#else
#define COHORT_BODY inline
#endif
#ifdef __CUDA_ARCH__
#define COHORT_UNROLL _Pragma("unroll")
#else
#define COHORT_UNROLL
#endif

/// Floating-point numbers of 16 bits, for device and host alike, without the toolkit's headers: kernels read them
/// as float32, compute, and round once, to the nearest and to even among equals, when they store.
namespace cohort::cuda::own {

struct Bfloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

COHORT_BODY std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

COHORT_BODY float float_of(std::uint32_t bits) {
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

COHORT_BODY float to_float(float value) { return value; }

COHORT_BODY float to_float(Bfloat16 value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16U); }

COHORT_BODY float to_float(Float16 value) {
#ifdef __CUDA_ARCH__
  float result = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
#else
  const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (value.bits >> 10U) & 0x1fU;
  const std::uint32_t mantissa = value.bits & 0x3ffU;
  if (exponent == 0) return float_of(sign | bits_of(static_cast<float>(mantissa) * 0x1p-24F));
  const std::uint32_t wide = exponent == 31 ? 0xffU : exponent + 112U;
  return float_of(sign | (wide << 23U) | (mantissa << 13U));
#endif
}

COHORT_BODY void from_float(float value, float& to) { to = value; }

COHORT_BODY void from_float(float value, Bfloat16& to) {
  const std::uint32_t bits = bits_of(value);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  const std::uint32_t rounded = is_nan ? bits | 0x400000U : bits + 0x7fffU + ((bits >> 16U) & 1U);
  to.bits = static_cast<std::uint16_t>(rounded >> 16U);
}

/// The upper bits of `value` without the `shift` lowest, rounded.
COHORT_BODY std::uint32_t shifted_and_rounded(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t kept = value >> shift;
  const std::uint32_t rest = value & ((1U << shift) - 1U);
  const std::uint32_t half = 1U << (shift - 1U);
  return kept + (rest > half || (rest == half && (kept & 1U) != 0) ? 1U : 0U);
}

COHORT_BODY void from_float(float value, Float16& to) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(value));
#else
  constexpr std::uint32_t kLeastInfinite = 0x477ff000U;  // 65520, which rounds to infinity
  constexpr std::uint32_t kLeastNormal = 0x38800000U;    // 2^-14
  constexpr std::uint32_t kMostZero = 0x33000000U;       // 2^-25, half of the least number
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t size = bits & 0x7fffffffU;
  std::uint32_t result = 0;
  if (size > 0x7f800000U) {
    result = 0x7e00U;
  } else if (size >= kLeastInfinite) {
    result = 0x7c00U;
  } else if (size >= kLeastNormal) {
    result = shifted_and_rounded(size - (112U << 23U), 13);
  } else if (size > kMostZero) {
    result = shifted_and_rounded((size & 0x7fffffU) | 0x800000U, 126U - (size >> 23U));
  }
  to.bits = static_cast<std::uint16_t>(sign | result);
#endif
}

/// Element `at` of numbers of type T.
template <class T>
COHORT_BODY float load(const void* from, std::int64_t at) {
  return to_float(static_cast<const T*>(from)[at]);
}

template <class T>
COHORT_BODY void store(void* to, std::int64_t at, float value) {
  from_float(value, static_cast<T*>(to)[at]);
}

/// Calls `work` with a number of the type.
template <class Work>
void with_type(DataType type, Work&& work) {
  if (type == DataType::kBfloat16) {
    work(Bfloat16{});
  } else if (type == DataType::kFloat16) {
    work(Float16{});
  } else {
    work(float{});
  }
}

}  // namespace cohort::cuda::own
