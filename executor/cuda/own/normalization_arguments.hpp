#pragma once

#include "executor/cuda/own/training_arguments.hpp"

/// Arguments of the kernels of normalisations in training, whose statistics are those of what they read.
namespace cohort::cuda::own {

/// Mean and variance of the elements that the `inner` dimensions reach in each lane.
struct StatisticsArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a lane
  Extents lanes, inner;
  const float* x = nullptr;
  float *mean = nullptr, *variance = nullptr;
  Strides x_lanes, x_inner, mean_lanes, variance_lanes;
};

/// The gradients of scale and shift: sums of normalised x * dy and of dy over all elements that an entry scales. Entry
/// i is lane i; dscale[i] is element i of the pack, dshift[i] element place + i, all others are zero.
struct NormalizationSumsArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a lane
  Extents lanes, inner;
  float epsilon = 0;
  const float *x = nullptr, *dy = nullptr, *mean = nullptr, *variance = nullptr;
  Strides x_lanes, x_inner, dy_lanes, dy_inner;
  Strides mean_lanes, mean_inner, variance_lanes, variance_inner;
  float* pack = nullptr;
  std::int64_t pack_step = 1;
  std::int32_t place = 0, size = 0;
};

/// Gradient by x where the elements of a row, which its `inner` dimensions reach, are normalised together and then
/// scaled.
struct NormalizationGradientArguments : Float32Kernel {
  std::int32_t threads = 1;  ///< of a row
  Extents rows, inner;
  float epsilon = 0;
  const float *x = nullptr, *scale = nullptr, *dy = nullptr;
  float* dx = nullptr;
  Strides x_rows, scale_rows, dy_rows, dx_rows;
  Strides x_inner, scale_inner, dy_inner, dx_inner;
};

/// A vector whose entries belong to an element by its index.
struct PerElement {
  const float* values = nullptr;
  Strides strides;
};
/// y = scale * (x - mean) / sqrt(variance + epsilon) + shift, elementwise.
struct NormalizeArguments : Float32Kernel {
  Extents shape;
  float epsilon = 0;
  const float* x = nullptr;
  float* y = nullptr;
  Strides x_strides, y_strides;
  PerElement scale, shift, mean, variance;
};
/// Its gradient by x, on which mean and variance depend, from those by scale and shift. `share` is one divided by the
/// number of elements that have a mean in common.
struct NormalizeGradientArguments : Float32Kernel {
  Extents shape;
  float epsilon = 0, share = 1;
  const float *x = nullptr, *dy = nullptr;
  float* dx = nullptr;
  Strides x_strides, dy_strides, dx_strides;
  PerElement scale, mean, variance, dscale, dshift;
};

/// Of y = x / (bias + alpha/size * sum of squares)^beta across the channels of [N, C, ...].
struct LrnGradientArguments : Float32Kernel {
  Extents shape;
  std::int32_t size = 1;
  float alpha = 0, beta = 0, bias = 1;
  const float *x = nullptr, *dy = nullptr;
  float* dx = nullptr;
  Strides x_strides, dy_strides, dx_strides;
};

}  // namespace cohort::cuda::own
