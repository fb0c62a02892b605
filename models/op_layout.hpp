#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/op_elementwise.hpp"
#include "models/shape.hpp"

/// Ops that move elements, of any type, and those that shrink axes.
namespace cohort {

/// Joins its inputs along `axis` (>= 0).
struct Concat {
  std::int64_t axis = 1;

  friend bool operator==(const Concat&, const Concat&) = default;
};

/// The same elements, in logical order, in another shape: that of the output tensor.
struct Reshape {
  friend bool operator==(const Reshape&, const Reshape&) = default;
};

/// Axis i of y is axis permutation[i] of x.
struct Transpose {
  std::vector<std::int64_t> permutation;

  friend bool operator==(const Transpose&, const Transpose&) = default;
};

/// y[i] = x[start + i*step] for i below `count`, one entry per axis; steps may be negative.
struct TensorSlice {
  std::vector<std::int64_t> start, step, count;

  friend bool operator==(const TensorSlice&, const TensorSlice&) = default;
};

enum class PadMode {
  kConstant,
  kReflect,  ///< mirrored without the edge
  kEdge,
  kWrap,
};

/// x with `begin` and `end` elements more, or less where negative, on each axis.
struct Pad {
  PadMode mode = PadMode::kConstant;
  std::vector<std::int64_t> begin, end;
  float value = 0;                              ///< of kConstant
  ElementType element = ElementType::kFloat32;  ///< `value` is an integer for kInt32

  friend bool operator==(const Pad&, const Pad&) = default;
};

/// y[..., i..., ...] = x[..., indices[i...], ...]: entries of axis `axis` (>= 0) of x. Inputs: x;
/// indices (int32, from -extent to extent - 1).
struct Gather {
  std::int64_t axis = 0;

  friend bool operator==(const Gather&, const Gather&) = default;
};

/// x [O, E, I] with updates [O, n, I] written to it: y[o, indices[o, j, i], i] = updates[o, j, i]. The last that meets
/// an element stays; with a reduction all are combined with what is there, in the order of j. Inputs: x; indices
/// (int32, from -E to E - 1), [O, n, I], or [O, n, 1] for all i alike; updates.
struct Scatter {
  std::optional<BinaryKind> reduction;          ///< kAdd, kMul, kMin or kMax
  ElementType element = ElementType::kFloat32;  ///< of x, updates and y

  friend bool operator==(const Scatter&, const Scatter&) = default;
};

/// x broadcast by numpy's rules to the common shape of x and `shape`.
struct Expand {
  Shape shape;

  friend bool operator==(const Expand&, const Expand&) = default;
};

/// x repeated as a whole, `repeats` times along each axis.
struct Tile {
  std::vector<std::int64_t> repeats;

  friend bool operator==(const Tile&, const Tile&) = default;
};

enum class ResizeMode { kNearest, kLinear, kCubic };
/// Where an output position lies in the input.
enum class ResizePositions {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kHalfPixelNearest,  ///< (i + 1/2) / scale
  kAlignCorners,
  kAsymmetric,
  kCrop,
};
/// Which input element is nearest.
enum class ResizeRounding { kPreferFloor, kPreferCeil, kFloor, kCeil };

/// Interpolation on a grid of another size, along every axis. Source: ONNX operator Resize-19.
struct Resize {
  ResizeMode mode = ResizeMode::kNearest;
  ResizePositions positions = ResizePositions::kHalfPixel;
  ResizeRounding rounding = ResizeRounding::kPreferFloor;
  Shape shape;                              ///< of y
  std::vector<double> scale;                ///< one per axis; y may have fewer elements than scale times extent
  std::vector<float> crop_begin, crop_end;  ///< of kCrop: where y begins and ends in x, 0 to 1
  float cubic_coefficient = -0.75F;
  float outside = 0;             ///< value of positions outside of x, kCrop only
  bool exclude_outside = false;  ///< kCubic: elements outside of x have no weight
  bool antialias = false;        ///< shrinking averages over all input elements it covers

  friend bool operator==(const Resize&, const Resize&) = default;
};

enum class ReduceKind { kSum, kMean, kMax, kMin, kProduct, kL1, kL2, kSumOfSquares, kLogSum, kLogSumExp };

/// One value, float32, for all elements along `axes` (ascending, >= 0), which stay as ones with `keep_axes`.
struct Reduce {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<std::int64_t> axes;
  bool keep_axes = true;

  friend bool operator==(const Reduce&, const Reduce&) = default;
};

/// Position (int32) of the largest, or with `smallest` the smallest, float32 element along `axis` (>= 0),
/// of equals the first or with `last` the last. Of `count` > 1 those of as many elements, the largest or smallest
/// first, along the axis, which is kept; of equals the first is ahead.
struct ArgMax {
  std::int64_t axis = 0;
  bool keep_axis = true;
  bool last = false;
  bool smallest = false;
  std::int64_t count = 1;

  friend bool operator==(const ArgMax&, const ArgMax&) = default;
};

}  // namespace cohort
