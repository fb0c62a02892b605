#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// For loops that the compiler vectorises. A function that holds one says COHORT_VECTORS: it is compiled for several
/// instruction sets, and the processor's best is taken when the program starts. What it calls in the loop must be
/// inlined, as COHORT_INLINE says, to be compiled with it; parallel regions stay outside, since they become functions
/// of their own.
#if defined(__SANITIZE_THREAD__)  // which cannot run before the program starts
#define COHORT_VECTORS
#elif defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)  // "avx2" would be without fused multiply-add
#define COHORT_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#elif defined(__x86_64__) && defined(__clang__)
#define COHORT_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define COHORT_VECTORS
#endif
#define COHORT_INLINE inline __attribute__((always_inline))

namespace cohort::onednn {

/// Elements that stay side by side in registers: one register, or two or four of a smaller instruction set. They are
/// plain arrays: of the compiler's vector types it keeps those in memory that are wider than a register.
inline constexpr std::int64_t kLanes = 16;

/// exp(x) within 2 units in the last place: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]. Below -87.3 zero, where
/// results would be denormal.
/// Source of the coefficients: Cephes library, expf, S. Moshier 1992.
COHORT_INLINE float vector_exp(float x) {
  const float clamped = x > 88.3762626647950F ? 88.3762626647950F : (x < -87.3365478515625F ? -87.3365478515625F : x);
  // Rounds to the nearest whole number: what is behind the binary point of this sum falls off.
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23
  const float shifted = clamped * 1.44269504088896341F + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float y = p * r * r + r + 1.0F;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  // In two halves: 2^128 is no float.
  const std::int32_t half = exponent >> 1;
  const float scale = std::bit_cast<float>((half + 127) << 23) * std::bit_cast<float>((exponent - half + 127) << 23);
  const float result = y * scale;
  return x < -87.3365478515625F ? 0.0F : (x > 88.7228390520684F ? INFINITY : (x != x ? x : result));
}

COHORT_INLINE float vector_sigmoid(float x) { return 1.0F / (1.0F + vector_exp(-x)); }

/// By exp where |x| is large, where small by a polynomial, since 1 - exp(2x) loses digits there.
/// Source of the coefficients: Cephes library, tanhf, S. Moshier 1992.
COHORT_INLINE float vector_tanh(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square + -5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square + -3.33332819422e-1F;
  const float small = p * square * x + x;
  const float large = 1.0F - 2.0F / (vector_exp(2.0F * magnitude) + 1.0F);
  return magnitude < 0.625F ? small : std::copysign(large, x);
}

}  // namespace cohort::onednn
