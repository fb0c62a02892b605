#pragma once

#include <cstdint>

#include "simulator/plan/data_type.hpp"

/// Arguments of Cohort's own kernels: plain values that are passed to the device as they are. Strides are in
/// elements; tensors have at most kMaxRank dimensions and fewer than 2^31 elements.
namespace cohort::cuda::own {

inline constexpr int kMaxRank = 6;
inline constexpr int kMaxPostOps = 4;

/// Offset of an index: sum of index * stride.
struct Strides {
  std::int64_t of[kMaxRank] = {};
};
/// Extents; a linear index counts the last dimension fastest.
struct Extents {
  std::int32_t of[kMaxRank] = {1, 1, 1, 1, 1, 1};
  std::int32_t rank = 0;
  std::int32_t count = 1;  ///< product
};

/// kAdd, or an activation: those of ActivationKind by the same names.
enum class PostKind : std::int32_t {
  kAdd,
  kRelu,
  kLeakyRelu,
  kElu,
  kSigmoid,
  kTanh,
  kClip,
  kSelu,
  kHardSigmoid,
  kHardSwish,
  kSoftplus,
  kSoftsign,
  kGelu,
  kGeluTanh,
  kErf,
  kMish,
  kSqrt,
  kNeg,
  kAbs,
  kExp,
  kLog,
  kReciprocal,
  kFloor,
  kCeil,
  kRound,
  kThresholdedRelu,
  kCelu,
  kSwish,
  kSign,
  kSin,
  kCos,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kFakeQuantize,
};

/// Work on a result before it is stored, in order. kAdd adds an element of `operand`, found by the
/// result's index.
struct PostOps {
  struct One {
    PostKind kind{};
    float alpha = 0;
    float beta = 0;
    const void* operand = nullptr;
    Strides strides;
  };
  std::int32_t count = 0;
  One of[kMaxPostOps];
};

/// Those of BinaryKind by the same names, in the same order, behind kCopy.
enum class MapKind : std::int32_t {
  kCopy,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kPRelu,
  kMod,
  kAffine,
  kApproach,
};

/// y = post(f(a, b, c)) elementwise, dimensions in the order of y's memory. kAffine: a * b + c; kApproach:
/// a + factor * (b - a).
struct MapArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  MapKind kind{};
  float factor = 1;
  Extents shape;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* y = nullptr;
  Strides a_strides, b_strides, c_strides, y_strides;
  PostOps post;
};

/// y = x, elementwise, rounded where y's type is the smaller. The dimensions are in the order of y's memory.
struct ConvertArguments {
  DataType x_type = DataType::kFloat32, y_type = DataType::kFloat32;
  Extents shape;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
};

/// The elements of x in logical order under y's shape.
struct ReshapeArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Extents x_shape, y_shape;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// Entries of an axis of x by index: rows of a table. Indices are int32, by their bits, from -extent to extent - 1; for
/// others y is NaN.
struct GatherArguments {
  DataType type = DataType::kFloat32;  ///< of x and y
  Extents y_shape;
  std::int32_t extent = 1;     ///< of the axis
  std::int64_t axis_step = 0;  ///< from one entry of x to the next
  const void* x = nullptr;
  const void* indices = nullptr;
  void* y = nullptr;
  Strides x_strides, index_strides, y_strides;  ///< by y's dimensions; 0 where a tensor does not have one
  PostOps post;
};

/// Window of a convolution or pooling over H and W.
struct Window2 {
  std::int32_t kernel[2] = {1, 1}, stride[2] = {1, 1}, pad[2] = {}, dilation[2] = {1, 1};
};

/// Dimensions [N, C, H, W]; `post` by the index [n, c, p, q].
struct PoolArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Window2 window;
  Extents y_shape;
  std::int32_t height = 1, width = 1;  ///< of x
  std::int32_t pad_end[2] = {};
  bool average = false;
  bool count_include_pad = false;  ///< averages divide by what lies inside x and its padding
  bool channels_last = false;      ///< neighbouring threads take neighbouring channels
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// Direct convolution, of several models where their channels are stacked: each has a filter [K, C/groups, R*S].
struct ConvolutionArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Window2 window;
  Extents y_shape;
  std::int32_t height = 1, width = 1;  ///< of x
  std::int32_t group_inputs = 1, group_outputs = 1;
  std::int32_t model_outputs = 1;  ///< channels of y of one model
  std::int32_t model_inputs = 0;   ///< those of x; 0 where models share them, or there is but one
  bool channels_last = false;      ///< neighbouring threads take neighbouring channels
  const void* x = nullptr;
  const void* w = nullptr;
  const void* bias = nullptr;                                        ///< [K] of each model; may be null
  std::int64_t w_model = 0, w_output = 1, w_input = 1, w_place = 1;  ///< strides; places count a filter's elements
  std::int64_t bias_model = 0, bias_output = 1;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// y = x / (bias + alpha/size * sum of squares)^beta across the channels of [N, C, ...].
struct LrnArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  Extents y_shape;
  std::int32_t size = 1;
  float alpha = 0, beta = 0, bias = 1;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;
  PostOps post;
};

/// Softmax along one dimension, or its logarithm; a lane is a line of elements along it.
struct SoftmaxArguments {
  DataType type = DataType::kFloat32;  ///< of every tensor
  bool logarithm = false;
  Extents lanes;            ///< all dimensions but that one
  std::int32_t length = 1;  ///< of the dimension
  std::int64_t x_step = 1, y_step = 1;
  const void* x = nullptr;
  void* y = nullptr;
  Strides x_strides, y_strides;  ///< of the lanes
};

/// y[b, n, o] = post(sum over i of x[b, n, i] * w[b, o, i] + bias[b, o]). `post` by the index [b, n, o].
struct GemmArguments {
  DataType type = DataType::kFloat32;                        ///< of every tensor
  std::int32_t batch = 1, rows = 1, columns = 1, inner = 1;  ///< B, N, O, I
  const void* x = nullptr;
  const void* w = nullptr;     ///< [B, O, I], rows dense
  const void* bias = nullptr;  ///< [B, O]; may be null
  void* y = nullptr;
  std::int64_t w_batch = 0, w_row = 0;
  std::int64_t bias_batch = 0, bias_column = 1;
  std::int64_t x_batch = 0, x_row = 0;
  std::int64_t y_batch = 0, y_row = 0, y_column = 1;
  PostOps post;
};

}  // namespace cohort::cuda::own
