#pragma once

#include "executor/cuda/own/bodies.hpp"
#include "executor/cuda/own/whole_arguments.hpp"

/// What one thread of the kernel on whole numbers computes, for device and host alike.
namespace cohort::cuda::own {

COHORT_BODY std::int32_t load_whole(const void* from, std::int64_t at) {
  return static_cast<std::int32_t>(bits_of(load<float>(from, at)));
}

COHORT_BODY void store_whole(void* to, std::int64_t at, std::int32_t value) {
  store<float>(to, at, float_of(static_cast<std::uint32_t>(value)));
}

inline constexpr std::int64_t kMostWhole = 2147483647;
inline constexpr std::int64_t kLeastWhole = -kMostWhole - 1;

COHORT_BODY std::int32_t in_32_bits(std::int64_t value) {
  if (value > kMostWhole) return static_cast<std::int32_t>(kMostWhole);
  if (value < kLeastWhole) return static_cast<std::int32_t>(kLeastWhole);
  return static_cast<std::int32_t>(value);
}

/// Towards zero; a NaN the least.
COHORT_BODY std::int32_t to_whole(float value) {
  constexpr float kBeyond = 2147483648.0F;
  if (value >= kBeyond) return static_cast<std::int32_t>(kMostWhole);
  return value >= -kBeyond ? static_cast<std::int32_t>(value) : static_cast<std::int32_t>(kLeastWhole);
}

/// Beyond 32 bits any number of the result's sign.
COHORT_BODY std::int64_t whole_power(std::int64_t a, std::int64_t b) {
  if (a == 0 || a == 1) return a == 1 || b == 0 ? 1 : 0;
  const bool negative = a < 0 && b % 2 != 0;
  if (a == -1) return negative ? -1 : 1;
  if (b < 0) return 0;
  std::int64_t result = 1;
  for (; b > 0 && result >= kLeastWhole && result <= kMostWhole; --b) result *= a;
  return (result < 0) == negative ? result : -result;
}

COHORT_BODY std::int64_t combine_whole(WholeKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case WholeKind::kAdd:
      return a + b;
    case WholeKind::kSub:
      return a - b;
    case WholeKind::kMul:
      return a * b;
    case WholeKind::kDiv:
      return b == 0 ? 0 : a / b;
    case WholeKind::kPow:
      return whole_power(a, b);
    case WholeKind::kMin:
      return a < b ? a : b;
    case WholeKind::kMax:
      return a > b ? a : b;
    case WholeKind::kPRelu:
      return a < 0 ? a * b : a;
    case WholeKind::kMod:
      return b == 0 ? 0 : a % b;
    case WholeKind::kBitwiseAnd:
      return a & b;
    case WholeKind::kBitwiseOr:
      return a | b;
    case WholeKind::kBitwiseXor:
      return a ^ b;
    case WholeKind::kAnd:
      return a != 0 && b != 0 ? 1 : 0;
    case WholeKind::kOr:
      return a != 0 || b != 0 ? 1 : 0;
    case WholeKind::kXor:
      return (a != 0) != (b != 0) ? 1 : 0;
    default:
      return 0;
  }
}

template <class Number>
COHORT_BODY bool compares(WholeKind kind, Number a, Number b) {
  switch (kind) {
    case WholeKind::kEqual:
      return a == b;
    case WholeKind::kLess:
      return a < b;
    case WholeKind::kLessOrEqual:
      return a <= b;
    case WholeKind::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

/// Of kAdd to kXor.
template <class T>
COHORT_BODY std::int32_t whole_result(const WholeArguments& k, std::int64_t a, std::int64_t b) {
  const bool comparison = k.kind >= WholeKind::kEqual && k.kind <= WholeKind::kGreaterOrEqual;
  if (comparison && !k.of_whole) return compares(k.kind, load<T>(k.a, a), load<T>(k.b, b)) ? 1 : 0;
  const std::int32_t first = load_whole(k.a, a);
  const std::int32_t second = load_whole(k.b, b);
  if (comparison) return compares(k.kind, first, second) ? 1 : 0;
  return in_32_bits(combine_whole(k.kind, first, second));
}

template <class T>
COHORT_BODY void whole_element(const WholeArguments& k, std::int32_t linear) {
  const int rank = k.shape.rank;
  const Index at = split(k.shape, linear);
  const std::int64_t a = offset(k.a_strides, at, rank);
  const std::int64_t b = offset(k.b_strides, at, rank);
  const std::int64_t y = offset(k.y_strides, at, rank);
  if (k.kind == WholeKind::kSelect) {
    const float value = load_whole(k.a, a) != 0 ? load<T>(k.b, b) : load<T>(k.c, offset(k.c_strides, at, rank));
    store<T>(k.y, y, finish<T>(k.post, value, at, rank));
  } else if (k.kind == WholeKind::kCast && k.of_whole) {
    store<T>(k.y, y, finish<T>(k.post, static_cast<float>(load_whole(k.a, a)), at, rank));
  } else if (k.kind == WholeKind::kCast) {
    store_whole(k.y, y, to_whole(load<T>(k.a, a)));
  } else if (k.kind == WholeKind::kTruth) {
    store_whole(k.y, y, (k.of_whole ? load_whole(k.a, a) != 0 : load<T>(k.a, a) != 0.0F) ? 1 : 0);
  } else {
    store_whole(k.y, y, whole_result<T>(k, a, b));
  }
}

/// What an update makes of what was there.
COHORT_BODY float updated(const ScatterArguments& k, float value, float update) {
  if (k.replaces) return update;
  if (!k.of_whole) return combine(k.kind, value, update);
  const auto a = static_cast<std::int32_t>(bits_of(value)), b = static_cast<std::int32_t>(bits_of(update));
  return float_of(static_cast<std::uint32_t>(in_32_bits(combine_whole(k.whole_kind, a, b))));
}

/// The first of sorted indices, `step` elements apart, that is not less than `entry`.
COHORT_BODY std::int32_t first_of_entry(const ScatterArguments& k, std::int64_t begin, std::int64_t step,
                                        std::int32_t entry) {
  std::int32_t from = 0, to = k.count;
  while (from < to) {
    const std::int32_t middle = from + (to - from) / 2;
    if (load_whole(k.indices, begin + middle * step) < entry) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

template <class T>
COHORT_BODY void scatter_element(const ScatterArguments& k, std::int32_t linear) {
  const Index at = split(k.y_shape, linear);
  const std::int32_t extent = k.y_shape.of[1];
  const Index first = {{at.of[0], 0, at.of[2]}};
  const std::int64_t indices = offset(k.index_strides, first, 3), step = k.index_strides.of[1];
  const std::int64_t updates = offset(k.update_strides, first, 3);
  float value = load<T>(k.x, offset(k.x_strides, at, 3));
  bool outside = false;
  if (k.is_sorted && k.count > 0) {
    outside = load_whole(k.indices, indices) < 0 || load_whole(k.indices, indices + (k.count - 1) * step) >= extent;
    for (std::int32_t i = first_of_entry(k, indices, step, at.of[1]); i < k.count; ++i) {
      if (load_whole(k.indices, indices + i * step) != at.of[1]) break;
      const std::int32_t update = load_whole(k.indices, indices + i * step + k.order);
      value = updated(k, value, load<T>(k.updates, updates + update * k.update_strides.of[1]));
    }
  } else {
    for (std::int32_t i = 0; i < k.count; ++i) {
      std::int32_t index = load_whole(k.indices, indices + i * step);
      outside = outside || index < -extent || index >= extent;
      if (index < 0) index += extent;
      if (index == at.of[1]) value = updated(k, value, load<T>(k.updates, updates + i * k.update_strides.of[1]));
    }
  }
  store<T>(k.y, offset(k.y_strides, at, 3), finish<T>(k.post, outside ? NAN : value, at, 3));
}

}  // namespace cohort::cuda::own
