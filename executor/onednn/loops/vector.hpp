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

/// A polynomial of x, coefficients of the highest power first.
template <class... Coefficients>
COHORT_INLINE float polynomial(float x, float first, Coefficients... others) {
  float sum = first;
  ((sum = sum * x + others), ...);
  return sum;
}

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
  const float p = polynomial(r, 1.9875691500e-4F, 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                             1.6666665459e-1F, 5.0000001201e-1F);
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
  const float p = polynomial(square, -5.70498872745e-3F, 2.06390887954e-2F, -5.37397155531e-2F, 1.33314422036e-1F,
                             -3.33332819422e-1F);
  const float small = p * square * x + x;
  const float large = 1.0F - 2.0F / (vector_exp(2.0F * magnitude) + 1.0F);
  return magnitude < 0.625F ? small : std::copysign(large, x);
}

/// log(x) within a unit in the last place: of 2^n * m, m from sqrt(1/2) to sqrt(2), n log 2 plus a polynomial.
/// Source of the coefficients: Cephes library, logf, S. Moshier 1992.
COHORT_INLINE float vector_log(float x) {
  const bool is_denormal = x < 0x1p-126F;
  const std::int32_t bits = std::bit_cast<std::int32_t>(x * (is_denormal ? 0x1p25F : 1.0F));
  const float fraction = std::bit_cast<float>((bits & 0x007fffff) | 0x3f000000);  // from 1/2 to 1
  const bool is_small = fraction < 0.707106781186547524F;
  const float n = static_cast<float>((bits >> 23) - 126) - (is_small ? 1.0F : 0.0F) - (is_denormal ? 25.0F : 0.0F);
  const float r = fraction * (is_small ? 2.0F : 1.0F) - 1.0F;
  const float square = r * r;
  const float p =
      polynomial(r, 7.0376836292e-2F, -1.1514610310e-1F, 1.1676998740e-1F, -1.2420140846e-1F, 1.4249322787e-1F,
                 -1.6668057665e-1F, 2.0000714765e-1F, -2.4999993993e-1F, 3.3333331174e-1F);
  const float y = p * r * square + n * -2.12194440e-4F - 0.5F * square;
  // One choice after the other: of nested ones, and of "and", the compiler makes branches.
  float result = (r + y) + n * 0.693359375F;
  result = x == 0 ? -INFINITY : result;
  result = x < 0 ? NAN : result;
  return x < INFINITY ? result : x;
}

/// log(1 + x) for x from 0 to 1: what rounding 1 + x takes from x is given back.
COHORT_INLINE float vector_log1p(float x) {
  const float sum = 1.0F + x;
  const float difference = sum - 1.0F;
  return difference == 0 ? x : vector_log(sum) * (x / difference);
}

/// log(1 + exp(x)).
COHORT_INLINE float vector_softplus(float x) {
  const float above = x > 0 ? x : (x != x ? x : 0.0F);
  return above + vector_log1p(vector_exp(-std::fabs(x)));
}

/// erf(x) within 3 units in the last place: a polynomial for small |x|, else by exp(-x^2) over x.
/// Source of the coefficients: Cephes library, erff and erfcf, S. Moshier 1992.
COHORT_INLINE float vector_erf(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  const float p = polynomial(square, 7.853861353153693e-5F, -8.010193625184903e-4F, 5.188327685732524e-3F,
                             -2.685381193529856e-2F, 1.128358514861418e-1F, -3.761262582423300e-1F, 1.128379165726710F);
  const float inverse = 1.0F / (magnitude < 1.0F ? 1.0F : magnitude);
  const float z = inverse * inverse;
  const float near = polynomial(z, 2.326819970068386e-2F, -1.387039388740657e-1F, 3.687424674597105e-1F,
                                -5.824733027278666e-1F, 6.210004621745983e-1F, -4.944515323274145e-1F,
                                3.404879937665872e-1F, -2.741127028184656e-1F, 5.638259427386472e-1F);
  const float far =
      polynomial(z, -1.047766399936249e+1F, 1.297719955372516e+1F, -7.495518717768503F, 2.921019019210786F,
                 -1.015265279202700F, 4.218463358204948e-1F, -2.820767439740514e-1F, 5.641895067754075e-1F);
  const float large = 1.0F - vector_exp(-square) * inverse * (magnitude < 2.0F ? near : far);
  return magnitude < 1.0F ? p * x : (x != x ? x : std::copysign(large, x));
}

}  // namespace cohort::onednn
