#pragma once

#include <cmath>
#include <cstdint>

#include "executor/cuda/own/arguments.hpp"
#include "executor/cuda/own/number.hpp"

/// What one thread of each own kernel computes, for the device and, in tests, for the host alike, on numbers of
/// type T in memory.
namespace cohort::cuda::own {

struct Index {
  std::int32_t of[kMaxRank];
};

COHORT_BODY Index split(const Extents& shape, std::int32_t linear) {
  Index index;
  // Over all dimensions there can be, so that the index stays in registers.
  COHORT_UNROLL
  for (int d = kMaxRank - 1; d >= 0; --d) {
    index.of[d] = 0;
    if (d >= shape.rank) continue;
    index.of[d] = d == 0 ? linear : linear % shape.of[d];
    linear /= shape.of[d];
  }
  return index;
}

COHORT_BODY std::int64_t offset(const Strides& strides, const Index& index, int rank) {
  std::int64_t result = 0;
  COHORT_UNROLL
  for (int d = 0; d < kMaxRank; ++d) {
    if (d < rank) result += index.of[d] * strides.of[d];
  }
  return result;
}

COHORT_BODY float sigmoid(float x) { return 1.0F / (1.0F + expf(-x)); }

COHORT_BODY float softplus(float x) { return fmaxf(x, 0.0F) + log1pf(expf(-fabsf(x))); }

COHORT_BODY bool is_nan(float value) { return (bits_of(value) & 0x7fffffffU) > 0x7f800000U; }

/// Unlike fmaxf and fminf, which give the other one, these keep a NaN.
COHORT_BODY float larger(float a, float b) { return a > b || is_nan(a) ? a : b; }
COHORT_BODY float smaller(float a, float b) { return a < b || is_nan(a) ? a : b; }

COHORT_BODY float unit_clip(float x) { return smaller(larger(x, 0.0F), 1.0F); }

/// Functions of x alone; x for any other kind.
COHORT_BODY float function_of(PostKind kind, float x) {
  constexpr float kInverseRootTwo = 0.70710678F;
  constexpr float kRootTwoOverPi = 0.79788456F;
  switch (kind) {
    case PostKind::kRelu:
      return x < 0 ? 0.0F : x;
    case PostKind::kSigmoid:
      return sigmoid(x);
    case PostKind::kTanh:
      return tanhf(x);
    case PostKind::kHardSwish:
      return x * unit_clip(x / 6.0F + 0.5F);
    case PostKind::kSoftplus:
      return softplus(x);
    case PostKind::kSoftsign:
      return x / (1.0F + fabsf(x));
    case PostKind::kGelu:
      return 0.5F * x * (1.0F + erff(x * kInverseRootTwo));
    case PostKind::kGeluTanh:
      return 0.5F * x * (1.0F + tanhf(kRootTwoOverPi * (x + 0.044715F * x * x * x)));
    case PostKind::kErf:
      return erff(x);
    case PostKind::kMish:
      return x * tanhf(softplus(x));
    case PostKind::kSqrt:
      return sqrtf(x);
    case PostKind::kNeg:
      return -x;
    case PostKind::kAbs:
      return fabsf(x);
    case PostKind::kExp:
      return expf(x);
    case PostKind::kLog:
      return logf(x);
    case PostKind::kReciprocal:
      return 1.0F / x;
    case PostKind::kFloor:
      return floorf(x);
    case PostKind::kCeil:
      return ceilf(x);
    case PostKind::kRound:
      return rintf(x);
    case PostKind::kSign:
      return is_nan(x) ? x : static_cast<float>((x > 0) - (x < 0));
    case PostKind::kSin:
      return sinf(x);
    case PostKind::kCos:
      return cosf(x);
    case PostKind::kAsin:
      return asinf(x);
    case PostKind::kAcos:
      return acosf(x);
    case PostKind::kAtan:
      return atanf(x);
    case PostKind::kSinh:
      return sinhf(x);
    case PostKind::kCosh:
      return coshf(x);
    case PostKind::kAsinh:
      return asinhf(x);
    case PostKind::kAcosh:
      return acoshf(x);
    case PostKind::kAtanh:
      return atanhf(x);
    default:
      return x;
  }
}

/// Functions that alpha and beta shape, and those of x alone.
COHORT_BODY float activate(PostKind kind, float alpha, float beta, float x) {
  switch (kind) {
    case PostKind::kLeakyRelu:
      return x >= 0 ? x : alpha * x;
    case PostKind::kElu:
      return x >= 0 ? x : alpha * expm1f(x);
    case PostKind::kClip:
      return smaller(larger(x, alpha), beta);
    case PostKind::kFakeQuantize:
      return alpha * smaller(larger(rintf(x / alpha), beta), beta + 255.0F);
    case PostKind::kSelu:
      return beta * (x > 0 ? x : alpha * expm1f(x));
    case PostKind::kHardSigmoid:
      return unit_clip(alpha * x + beta);
    case PostKind::kThresholdedRelu:
      return x <= alpha ? 0.0F : x;
    case PostKind::kCelu:
      return larger(x, 0.0F) + smaller(alpha * expm1f(x / alpha), 0.0F);
    case PostKind::kSwish:
      return x * sigmoid(alpha * x);
    default:
      return function_of(kind, x);
  }
}

template <class T>
COHORT_BODY float finish(const PostOps& post, float value, const Index& index, int rank) {
  for (int i = 0; i < post.count; ++i) {
    const PostOps::One& one = post.of[i];
    value = one.kind == PostKind::kAdd ? value + load<T>(one.operand, offset(one.strides, index, rank))
                                       : activate(one.kind, one.alpha, one.beta, value);
  }
  return value;
}

COHORT_BODY float combine(MapKind kind, float a, float b) {
  switch (kind) {
    case MapKind::kAdd:
      return a + b;
    case MapKind::kSub:
      return a - b;
    case MapKind::kMul:
    case MapKind::kAffine:
      return a * b;
    case MapKind::kDiv:
      return a / b;
    case MapKind::kPow:
      return powf(a, b);
    case MapKind::kMin:
      return smaller(a, b);
    case MapKind::kMax:
      return larger(a, b);
    case MapKind::kPRelu:
      return a < 0 ? a * b : a;
    case MapKind::kMod:
      return fmodf(a, b);
    case MapKind::kApproach:
      return b - a;
    case MapKind::kCopy:
      break;
  }
  return a;
}

template <class T>
COHORT_BODY void map_element(const MapArguments& k, std::int32_t linear) {
  const int rank = k.shape.rank;
  const Index index = split(k.shape, linear);
  float value = load<T>(k.a, offset(k.a_strides, index, rank));
  if (k.kind != MapKind::kCopy) {
    const float combined = combine(k.kind, value, load<T>(k.b, offset(k.b_strides, index, rank)));
    value = k.kind == MapKind::kApproach ? value + k.factor * combined : combined;
    if (k.kind == MapKind::kAffine) value += load<T>(k.c, offset(k.c_strides, index, rank));
  }
  store<T>(k.y, offset(k.y_strides, index, rank), finish<T>(k.post, value, index, rank));
}

COHORT_BODY float load_as(DataType type, const void* from, std::int64_t at) {
  return type == DataType::kBfloat16  ? load<Bfloat16>(from, at)
         : type == DataType::kFloat16 ? load<Float16>(from, at)
                                      : load<float>(from, at);
}

COHORT_BODY void convert_element(const ConvertArguments& k, std::int32_t linear) {
  const Index index = split(k.shape, linear);
  const float value = load_as(k.x_type, k.x, offset(k.x_strides, index, k.shape.rank));
  const std::int64_t to = offset(k.y_strides, index, k.shape.rank);
  if (k.y_type == DataType::kBfloat16) {
    store<Bfloat16>(k.y, to, value);
  } else if (k.y_type == DataType::kFloat16) {
    store<Float16>(k.y, to, value);
  } else {
    store<float>(k.y, to, value);
  }
}

template <class T>
COHORT_BODY void reshape_element(const ReshapeArguments& k, std::int32_t linear) {
  const Index from = split(k.x_shape, linear);
  const Index to = split(k.y_shape, linear);
  const float value = load<T>(k.x, offset(k.x_strides, from, k.x_shape.rank));
  store<T>(k.y, offset(k.y_strides, to, k.y_shape.rank), finish<T>(k.post, value, to, k.y_shape.rank));
}

template <class T>
COHORT_BODY void gather_element(const GatherArguments& k, std::int32_t linear) {
  const Index at = split(k.y_shape, linear);
  auto index = static_cast<std::int32_t>(bits_of(load<float>(k.indices, offset(k.index_strides, at, k.y_shape.rank))));
  if (index < 0) index += k.extent;
  float value = NAN;  // nothing is read from outside of the axis
  if (index >= 0 && index < k.extent)
    value = load<T>(k.x, offset(k.x_strides, at, k.y_shape.rank) + index * k.axis_step);
  store<T>(k.y, offset(k.y_strides, at, k.y_shape.rank), finish<T>(k.post, value, at, k.y_shape.rank));
}

/// Index [n, c, p, q]; with `channels_last` neighbours differ in c.
COHORT_BODY Index split_image(const Extents& y, bool channels_last, std::int32_t linear) {
  if (!channels_last) return split(y, linear);
  Index index;
  index.of[1] = linear % y.of[1];
  linear /= y.of[1];
  index.of[3] = linear % y.of[3];
  linear /= y.of[3];
  index.of[2] = linear % y.of[2];
  index.of[0] = linear / y.of[2];
  return index;
}

/// Rows (dimension 0) or columns of the window at an output position that lie inside x and its padding.
COHORT_BODY std::int32_t padded_count(const PoolArguments& k, const Index& at, int dimension) {
  const std::int32_t extent = dimension == 0 ? k.height : k.width;
  const std::int32_t first = at.of[2 + dimension] * k.window.stride[dimension] - k.window.pad[dimension];
  std::int32_t count = 0;
  for (std::int32_t i = 0; i < k.window.kernel[dimension]; ++i)
    count += first + i * k.window.dilation[dimension] < extent + k.pad_end[dimension] ? 1 : 0;
  return count;
}

/// Calls `visit(row, column, place)` for every element of the image that the window at an output position covers;
/// `place` counts the window's own elements, row by row.
template <class Arguments, class Visit>
COHORT_BODY void for_window(const Arguments& k, const Index& at, Visit visit) {
  for (std::int32_t r = 0; r < k.window.kernel[0]; ++r) {
    const std::int32_t i = at.of[2] * k.window.stride[0] - k.window.pad[0] + r * k.window.dilation[0];
    if (i < 0 || i >= k.height) continue;
    for (std::int32_t s = 0; s < k.window.kernel[1]; ++s) {
      const std::int32_t j = at.of[3] * k.window.stride[1] - k.window.pad[1] + s * k.window.dilation[1];
      if (j >= 0 && j < k.width) visit(i, j, r * k.window.kernel[1] + s);
    }
  }
}

template <class T>
COHORT_BODY void pool_element(const PoolArguments& k, std::int32_t linear) {
  const Index at = split_image(k.y_shape, k.channels_last, linear);
  const std::int64_t plane = at.of[0] * k.x_strides.of[0] + at.of[1] * k.x_strides.of[1];
  float largest = -INFINITY;
  float sum = 0;
  std::int32_t count = 0;
  for_window(k, at, [&](std::int32_t i, std::int32_t j, std::int32_t) {
    const float value = load<T>(k.x, plane + i * k.x_strides.of[2] + j * k.x_strides.of[3]);
    largest = larger(largest, value);
    sum += value;
    ++count;
  });
  if (k.count_include_pad) count = padded_count(k, at, 0) * padded_count(k, at, 1);
  const std::int32_t divisor = count > 0 ? count : 1;
  const float value = k.average ? sum / static_cast<float>(divisor) : largest;
  store<T>(k.y, offset(k.y_strides, at, 4), finish<T>(k.post, value, at, 4));
}

template <class T>
COHORT_BODY void convolution_element(const ConvolutionArguments& k, std::int32_t linear) {
  const Index at = split_image(k.y_shape, k.channels_last, linear);
  const std::int32_t channels = k.group_inputs;
  const std::int32_t model = at.of[1] / k.model_outputs;
  const std::int32_t output = at.of[1] % k.model_outputs;
  const std::int32_t first = model * k.model_inputs + output / k.group_outputs * channels;
  const T* const image = static_cast<const T*>(k.x) + at.of[0] * k.x_strides.of[0] + first * k.x_strides.of[1];
  const T* const filter = static_cast<const T*>(k.w) + model * k.w_model + output * k.w_output;
  float sum = k.bias != nullptr ? load<T>(k.bias, model * k.bias_model + output * k.bias_output) : 0.0F;
  for_window(k, at, [&](std::int32_t i, std::int32_t j, std::int32_t place) {
    const T* const x = image + i * k.x_strides.of[2] + j * k.x_strides.of[3];
    const T* const w = filter + place * k.w_place;
    for (std::int32_t c = 0; c < channels; ++c) sum += to_float(x[c * k.x_strides.of[1]]) * to_float(w[c * k.w_input]);
  });
  store<T>(k.y, offset(k.y_strides, at, 4), finish<T>(k.post, sum, at, 4));
}

template <class T>
COHORT_BODY void lrn_element(const LrnArguments& k, std::int32_t linear) {
  const int rank = k.y_shape.rank;
  const Index at = split(k.y_shape, linear);
  const std::int32_t before = (k.size - 1) / 2;
  const std::int32_t after = k.size - 1 - before;
  const std::int64_t step = k.x_strides.of[1];
  const std::int64_t x = offset(k.x_strides, at, rank);
  float squares = 0;
  for (std::int32_t i = -before; i <= after; ++i) {
    const std::int32_t channel = at.of[1] + i;
    if (channel < 0 || channel >= k.y_shape.of[1]) continue;
    const float value = load<T>(k.x, x + i * step);
    squares += value * value;
  }
  const float scale = k.bias + k.alpha / static_cast<float>(k.size) * squares;
  store<T>(k.y, offset(k.y_strides, at, rank), finish<T>(k.post, load<T>(k.x, x) * powf(scale, -k.beta), at, rank));
}

/// One lane's part of a softmax; `lanes` threads share the dimension, each taking every lanes-th element.
template <class T>
COHORT_BODY float softmax_largest(const SoftmaxArguments& k, const T* x, std::int32_t thread, std::int32_t threads) {
  float largest = -INFINITY;
  for (std::int32_t i = thread; i < k.length; i += threads) largest = fmaxf(largest, to_float(x[i * k.x_step]));
  return largest;
}

template <class T>
COHORT_BODY float softmax_sum(const SoftmaxArguments& k, const T* x, float largest, std::int32_t thread,
                              std::int32_t threads) {
  float sum = 0;
  for (std::int32_t i = thread; i < k.length; i += threads) sum += expf(to_float(x[i * k.x_step]) - largest);
  return sum;
}

template <class T>
COHORT_BODY void softmax_store(const SoftmaxArguments& k, const T* x, T* y, float largest, float sum,
                               std::int32_t thread, std::int32_t threads) {
  const float logarithm = logf(sum);
  for (std::int32_t i = thread; i < k.length; i += threads) {
    const float value = to_float(x[i * k.x_step]) - largest;
    from_float(k.logarithm ? value - logarithm : expf(value) / sum, y[i * k.y_step]);
  }
}

/// Place of one result of a batched product.
struct GemmPlace {
  Index at;  ///< [b, n, o]
};

COHORT_BODY GemmPlace gemm_place(const GemmArguments& k, std::int64_t linear) {
  GemmPlace place{};
  place.at.of[2] = static_cast<std::int32_t>(linear % k.columns);
  linear /= k.columns;
  place.at.of[1] = static_cast<std::int32_t>(linear % k.rows);
  place.at.of[0] = static_cast<std::int32_t>(linear / k.rows);
  return place;
}

/// One thread's part of a sum that `threads` threads share.
template <class T>
COHORT_BODY float gemm_partial(const GemmArguments& k, const GemmPlace& place, std::int32_t thread,
                               std::int32_t threads) {
  const T* const x = static_cast<const T*>(k.x) + place.at.of[0] * k.x_batch + place.at.of[1] * k.x_row;
  const T* const w = static_cast<const T*>(k.w) + place.at.of[0] * k.w_batch + place.at.of[2] * k.w_row;
  float sum = 0;
  for (std::int32_t i = thread; i < k.inner; i += threads) sum += to_float(x[i]) * to_float(w[i]);
  return sum;
}

template <class T>
COHORT_BODY void gemm_store(const GemmArguments& k, const GemmPlace& place, float sum) {
  if (k.bias != nullptr) sum += load<T>(k.bias, place.at.of[0] * k.bias_batch + place.at.of[2] * k.bias_column);
  const std::int64_t y = place.at.of[0] * k.y_batch + place.at.of[1] * k.y_row + place.at.of[2] * k.y_column;
  store<T>(k.y, y, finish<T>(k.post, sum, place.at, 3));
}

}  // namespace cohort::cuda::own
