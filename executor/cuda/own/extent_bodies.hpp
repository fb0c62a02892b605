#pragma once

#include "executor/cuda/own/bodies.hpp"
#include "executor/cuda/own/extent_arguments.hpp"

/// What one thread of the kernels whose result has other extents computes, for device and host alike.
namespace cohort::cuda::own {

/// What some elements of a lane come to.
struct ReducePart {
  float value = 0;
  float extra = 0;  ///< of sums: what rounding has added too much; of kLogSumExp: the largest element
};

COHORT_BODY ReducePart reduce_nothing(ReduceOf kind) {
  switch (kind) {
    case ReduceOf::kMax:
      return {-INFINITY, 0.0F};
    case ReduceOf::kMin:
      return {INFINITY, 0.0F};
    case ReduceOf::kProduct:
      return {1.0F, 0.0F};
    case ReduceOf::kLogSumExp:
      return {0.0F, -INFINITY};
    default:
      return {0.0F, 0.0F};
  }
}

/// One element more, by Kahan's summation: a thread may have to add up very many.
COHORT_BODY ReducePart reduce_sum(const ReducePart& part, float x) {
  const float corrected = x - part.extra;
  const float sum = part.value + corrected;
  const float extra = (sum - part.value) - corrected;
  return {sum, fabsf(sum) < INFINITY ? extra : 0.0F};
}

/// value * exp(extra) of both, by the larger exponent, so that nothing overflows. A part without value is empty.
COHORT_BODY ReducePart reduce_exponents(const ReducePart& a, const ReducePart& b) {
  if (b.value == 0) return a;
  if (a.value == 0) return b;
  if (a.extra == b.extra) return {a.value + b.value, a.extra};
  if (a.extra > b.extra) return {a.value + b.value * expf(b.extra - a.extra), a.extra};
  return {b.value + a.value * expf(a.extra - b.extra), b.extra};
}

COHORT_BODY ReducePart reduce_merge(ReduceOf kind, const ReducePart& a, const ReducePart& b) {
  switch (kind) {
    case ReduceOf::kMax:
      return {larger(a.value, b.value), 0.0F};
    case ReduceOf::kMin:
      return {smaller(a.value, b.value), 0.0F};
    case ReduceOf::kProduct:
      return {a.value * b.value, 0.0F};
    case ReduceOf::kLogSumExp:
      return reduce_exponents(a, b);
    default:
      return reduce_sum(reduce_sum(a, b.value), -b.extra);
  }
}

COHORT_BODY ReducePart reduce_take(ReduceOf kind, const ReducePart& part, float x) {
  switch (kind) {
    case ReduceOf::kSum:
    case ReduceOf::kMean:
    case ReduceOf::kLogSum:
      return reduce_sum(part, x);
    case ReduceOf::kL1:
      return reduce_sum(part, fabsf(x));
    case ReduceOf::kL2:
    case ReduceOf::kSumOfSquares:
      return reduce_sum(part, x * x);
    case ReduceOf::kLogSumExp:
      return x == -INFINITY ? part : reduce_exponents(part, {1.0F, x});
    default:
      return reduce_merge(kind, part, {x, 0.0F});
  }
}

COHORT_BODY float reduce_result(ReduceOf kind, const ReducePart& part, std::int32_t count) {
  switch (kind) {
    case ReduceOf::kMean:
      return part.value / static_cast<float>(count);
    case ReduceOf::kL2:
      return sqrtf(part.value);
    case ReduceOf::kLogSum:
      return logf(part.value);
    case ReduceOf::kLogSumExp:
      return part.extra + logf(part.value);
    default:
      return part.value;
  }
}

/// One thread's part of a lane that `threads` threads share.
template <class T>
COHORT_BODY ReducePart reduce_partial(const ReduceArguments& k, const Index& lane, std::int32_t thread,
                                      std::int32_t threads) {
  const T* const x = static_cast<const T*>(k.x) + offset(k.x_lanes, lane, k.lanes.rank);
  ReducePart part = reduce_nothing(k.kind);
  for (std::int32_t i = thread; i < k.inner.count; i += threads)
    part = reduce_take(k.kind, part, to_float(x[offset(k.x_inner, split(k.inner, i), k.inner.rank)]));
  return part;
}

template <class T>
COHORT_BODY void reduce_store(const ReduceArguments& k, const Index& lane, const ReducePart& part) {
  const float value = reduce_result(k.kind, part, k.inner.count);
  store<T>(k.y, offset(k.y_lanes, lane, k.lanes.rank), finish<T>(k.post, value, lane, k.lanes.rank));
}

/// An element and its place; no place: none yet.
struct Best {
  float value = 0;
  std::int32_t at = -1;
};

/// The first NaN is ahead of all numbers.
COHORT_BODY Best better(const ArgMaxArguments& k, const Best& a, const Best& b) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  if (is_nan(a.value) && is_nan(b.value)) return a.at < b.at ? a : b;
  if (is_nan(a.value) || is_nan(b.value)) return is_nan(a.value) ? a : b;
  if (a.value == b.value) return (a.at < b.at) == k.last ? b : a;
  return (k.smallest ? b.value < a.value : b.value > a.value) ? b : a;
}

template <class T>
COHORT_BODY Best argmax_partial(const ArgMaxArguments& k, const Index& lane, std::int32_t thread,
                                std::int32_t threads) {
  const T* const x = static_cast<const T*>(k.x) + offset(k.x_lanes, lane, k.lanes.rank);
  Best best;
  for (std::int32_t i = thread; i < k.length; i += threads) best = better(k, best, {to_float(x[i * k.x_step]), i});
  return best;
}

template <class T>
COHORT_BODY void argmax_store(const ArgMaxArguments& k, const Index& lane, const Best& best) {
  store<float>(k.y, offset(k.y_lanes, lane, k.lanes.rank), float_of(static_cast<std::uint32_t>(best.at)));
}

template <class T>
COHORT_BODY void resize_element(const ResizeArguments& k, std::int32_t linear) {
  const int rank = k.y_shape.rank;
  const Index at = split(k.y_shape, linear);
  const ResizeTap* taps[kMaxRank] = {};
  std::int32_t count[kMaxRank] = {};
  std::int32_t all = 1;
  std::int64_t from = 0;
  for (int d = 0; d < rank; ++d) {
    const std::int32_t position = at.of[d];
    if (k.first[d] == nullptr) {
      from += position * k.x_strides.of[d];
    } else {
      taps[d] = k.taps[d] + k.first[d][position];
      count[d] = k.first[d][position + 1] - k.first[d][position];
      all *= count[d];
    }
  }
  float value = all == 0 ? k.outside : 0.0F;
  for (std::int32_t i = 0; i < all; ++i) {  // every choice of a tap along each dimension
    std::int64_t x = from;
    std::int32_t rest = i;
    float weight = 1;
    for (int d = rank - 1; d >= 0; --d) {
      if (taps[d] == nullptr) continue;
      const ResizeTap tap = taps[d][rest % count[d]];
      rest /= count[d];
      x += tap.at * k.x_strides.of[d];
      weight *= tap.weight;
    }
    value += weight * load<T>(k.x, x);
  }
  store<T>(k.y, offset(k.y_strides, at, rank), finish<T>(k.post, value, at, rank));
}

/// The element of `extent` that place `at` takes, which may lie before or behind them; negative: none.
COHORT_BODY std::int64_t padded_from(PadWith with, std::int64_t at, std::int32_t extent) {
  if (at >= 0 && at < extent) return at;
  switch (with) {
    case PadWith::kEdge:
      return at < 0 ? 0 : extent - 1;
    case PadWith::kWrap:
      return (at % extent + extent) % extent;
    case PadWith::kReflect: {
      if (extent == 1) return 0;
      const std::int64_t period = 2 * (static_cast<std::int64_t>(extent) - 1);
      const std::int64_t folded = (at % period + period) % period;
      return folded < extent ? folded : period - folded;
    }
    default:
      return -1;
  }
}

template <class T>
COHORT_BODY void pad_element(const PadArguments& k, std::int32_t linear) {
  const int rank = k.y_shape.rank;
  const Index at = split(k.y_shape, linear);
  bool inside = true;
  std::int64_t x = 0;
  for (int d = 0; d < rank; ++d) {
    const std::int64_t from = padded_from(k.with, at.of[d] - k.shift[d], k.extent[d]);
    inside = inside && from >= 0;
    x += from * k.x_strides.of[d];
  }
  const float value = inside ? load<T>(k.x, x) : k.value;
  store<T>(k.y, offset(k.y_strides, at, rank), finish<T>(k.post, value, at, rank));
}

/// Element of x whose kernel reaches position `at` of y along a dimension with entry `tap`; negative: none.
COHORT_BODY std::int32_t transposed_from(const ConvTransposeArguments& k, int dimension, std::int32_t at,
                                         std::int32_t tap) {
  const std::int64_t dilation = k.window.dilation[dimension];
  const std::int64_t reached = at + static_cast<std::int64_t>(k.window.pad[dimension]) - tap * dilation;
  if (reached < 0 || reached % k.window.stride[dimension] != 0) return -1;
  const std::int64_t from = reached / k.window.stride[dimension];
  return from < (dimension == 0 ? k.height : k.width) ? static_cast<std::int32_t>(from) : -1;
}

template <class T>
COHORT_BODY void conv_transpose_element(const ConvTransposeArguments& k, std::int32_t linear) {
  const Index at = split_image(k.y_shape, k.channels_last, linear);
  const std::int32_t model = at.of[1] / k.model_outputs;
  const std::int32_t output = at.of[1] % k.model_outputs;
  const std::int32_t first = output / k.group_outputs * k.group_inputs;  // channel of the model's x
  const T* const image = static_cast<const T*>(k.x) + at.of[0] * k.x_strides.of[0] +
                         (model * static_cast<std::int64_t>(k.model_inputs) + first) * k.x_strides.of[1];
  const T* const filter =
      static_cast<const T*>(k.w) + model * k.w_model + first * k.w_input + output % k.group_outputs * k.w_output;
  float sum = k.bias != nullptr ? load<T>(k.bias, model * k.bias_model + output * k.bias_output) : 0.0F;
  for (std::int32_t r = 0; r < k.window.kernel[0]; ++r) {
    const std::int32_t i = transposed_from(k, 0, at.of[2], r);
    if (i < 0) continue;
    for (std::int32_t s = 0; s < k.window.kernel[1]; ++s) {
      const std::int32_t j = transposed_from(k, 1, at.of[3], s);
      if (j < 0) continue;
      const T* const x = image + i * k.x_strides.of[2] + j * k.x_strides.of[3];
      const T* const w = filter + (r * k.window.kernel[1] + s) * k.w_place;
      for (std::int32_t c = 0; c < k.group_inputs; ++c)
        sum += to_float(x[c * k.x_strides.of[1]]) * to_float(w[c * k.w_input]);
    }
  }
  store<T>(k.y, offset(k.y_strides, at, 4), finish<T>(k.post, sum, at, 4));
}

template <class T>
COHORT_BODY void max_index_element(const MaxIndexArguments& k, std::int32_t linear) {
  const Index at = split_image(k.y_shape, k.channels_last, linear);
  const std::int64_t plane = at.of[0] * k.x_strides.of[0] + at.of[1] * k.x_strides.of[1];
  float largest = -INFINITY;
  std::int32_t found = -1;
  for_window(k, at, [&](std::int32_t i, std::int32_t j, std::int32_t) {
    const float value = load<T>(k.x, plane + i * k.x_strides.of[2] + j * k.x_strides.of[3]);
    if (found >= 0 && (is_nan(largest) || value <= largest)) return;
    largest = value;
    found = k.column_major ? j * k.height + i : i * k.width + j;
  });
  const std::int32_t before = (at.of[0] * k.y_shape.of[1] + at.of[1]) * k.height * k.width;
  store<float>(k.y, offset(k.y_strides, at, 4), float_of(static_cast<std::uint32_t>(before + (found < 0 ? 0 : found))));
}

}  // namespace cohort::cuda::own
