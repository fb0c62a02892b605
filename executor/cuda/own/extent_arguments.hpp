#pragma once

#include "executor/cuda/own/arguments.hpp"

/// Arguments of kernels whose result has other extents than what they read.
namespace cohort::cuda::own {

/// Those of ReduceKind by the same names.
enum class ReduceOf : std::int32_t {
  kSum,
  kMean,
  kMax,
  kMin,
  kProduct,
  kL1,
  kL2,
  kSumOfSquares,
  kLogSum,
  kLogSumExp,
};

/// One value for each lane, of the elements of x that its `inner` dimensions reach.
struct ReduceArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  ReduceOf kind{};
  bool thread_per_lane = false;  ///< else a warp shares a lane
  Extents lanes, inner;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_lanes, x_inner, y_lanes;
  PostOps post;  ///< by the index of the lane
};

/// Where each lane has its largest or smallest number: a whole number of 32 bits. Where it holds a NaN, the first of
/// them is both.
struct ArgMaxArguments {
  DataType type = DataType::kFloat32;  ///< of x
  bool thread_per_lane = false;        ///< else a warp shares a lane
  bool last = false;                   ///< of equals, else the first
  bool smallest = false;
  Extents lanes;
  std::int32_t length = 1;  ///< of a lane
  std::int64_t x_step = 1;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_lanes, y_lanes;
};

/// A part that a position of a result takes of an element.
struct ResizeTap {
  std::int32_t at = 0;
  float weight = 0;
};

/// y = sums over the parts that a position takes along every dimension. Dimensions are in the order of y's memory.
struct ResizeArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Extents y_shape;
  /// By dimension, of the positions along it and of what is behind the last: the first of its taps. Null where each
  /// position takes the element of its number.
  const std::int32_t* first[kMaxRank] = {};
  const ResizeTap* taps[kMaxRank] = {};
  float outside = 0;  ///< where there are no taps
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// Those of PadMode by the same names.
enum class PadWith : std::int32_t { kConstant, kReflect, kEdge, kWrap };

/// x, moved by `shift` and filled up around its `extent` elements. Dimensions are in the order of y's memory.
struct PadArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  PadWith with{};
  Extents y_shape;
  std::int64_t shift[kMaxRank] = {};
  std::int32_t extent[kMaxRank] = {};
  float value = 0;  ///< of kConstant; of whole numbers by its bits
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// Each element of x adds its kernel, scaled, to y; the filter is [C, K/groups, R*S].
struct ConvTransposeArguments : ConvolutionArguments {};

/// Where a maximum of each window lies in a dense [N, C, H, W] tensor, or with `column_major` [N, C, W, H]: a whole
/// number of 32 bits. `type` is that of x; there are no post-ops.
struct MaxIndexArguments : PoolArguments {
  bool column_major = false;
};

}  // namespace cohort::cuda::own
