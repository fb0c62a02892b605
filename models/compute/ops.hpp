#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "models/compute/tensor_ref.hpp"
#include "models/op.hpp"

/// Every op as plain loops over strided tensors, sums in double: what the ops mean. Shapes and element
/// types as in models/op.hpp; they must fit, which the caller has checked. Those that read whole
/// numbers throw std::range_error where one is out of range. y of an op that updates a state may lie where that does.
namespace cohort::reference {

using Inputs = std::span<const ConstTensor>;

inline double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// One element of what a Binary gives. Throws std::range_error where that does not fit 32 bits as a whole number.
float combine(const Binary& op, float a, float b);

void compute(const Convolution& op, Inputs inputs, const Tensor& y);
void compute(const ConvTranspose& op, Inputs inputs, const Tensor& y);
void compute(const Pool& op, Inputs inputs, const Tensor& y);
void compute(const MaxPoolIndices& op, Inputs inputs, const Tensor& y);
void compute(const Gemm& op, Inputs inputs, const Tensor& y);
void compute(const MatMul& op, Inputs inputs, const Tensor& y);
void compute(const BatchNormalization& op, Inputs inputs, const Tensor& y);
void compute(const GroupNormalization& op, Inputs inputs, const Tensor& y);
void compute(const LayerNormalization& op, Inputs inputs, const Tensor& y);
void compute(const LocalResponseNormalization& op, Inputs inputs, const Tensor& y);
void compute(const Softmax& op, Inputs inputs, const Tensor& y);
void compute(const Activation& op, Inputs inputs, const Tensor& y);
void compute(const Binary& op, Inputs inputs, const Tensor& y);
void compute(const Select& op, Inputs inputs, const Tensor& y);
void compute(const Cast& op, Inputs inputs, const Tensor& y);
void compute(const Concat& op, Inputs inputs, const Tensor& y);
void compute(const Reshape& op, Inputs inputs, const Tensor& y);
void compute(const Transpose& op, Inputs inputs, const Tensor& y);
void compute(const TensorSlice& op, Inputs inputs, const Tensor& y);
void compute(const Pad& op, Inputs inputs, const Tensor& y);
void compute(const Gather& op, Inputs inputs, const Tensor& y);
void compute(const Scatter& op, Inputs inputs, const Tensor& y);
void compute(const Expand& op, Inputs inputs, const Tensor& y);
void compute(const Tile& op, Inputs inputs, const Tensor& y);
void compute(const Resize& op, Inputs inputs, const Tensor& y);
void compute(const Reduce& op, Inputs inputs, const Tensor& y);
void compute(const ArgMax& op, Inputs inputs, const Tensor& y);
void compute(const Lstm& op, Inputs inputs, const Tensor& y);
void compute(const Recurrent& op, Inputs inputs, const Tensor& y);

void compute(const Pack& op, Inputs inputs, const Tensor& y);
void compute(const Unpack& op, Inputs inputs, const Tensor& y);
void compute(const ConvolutionWeightGradient& op, Inputs inputs, const Tensor& y);
void compute(const GemmWeightGradient& op, Inputs inputs, const Tensor& y);
void compute(const PoolGradient& op, Inputs inputs, const Tensor& y);
void compute(const ActivationGradient& op, Inputs inputs, const Tensor& y);
void compute(const SoftmaxGradient& op, Inputs inputs, const Tensor& y);
void compute(const SoftmaxCrossEntropy& op, Inputs inputs, const Tensor& y);
void compute(const SoftmaxCrossEntropyGradient& op, Inputs inputs, const Tensor& y);
void compute(const BatchStatistics& op, Inputs inputs, const Tensor& y);
void compute(const NormalizeByStatistics& op, Inputs inputs, const Tensor& y);
void compute(const BatchNormalizationWeightGradient& op, Inputs inputs, const Tensor& y);
void compute(const BatchNormalizationGradient& op, Inputs inputs, const Tensor& y);
void compute(const LayerNormalizationGradient& op, Inputs inputs, const Tensor& y);
void compute(const LayerNormalizationWeightGradient& op, Inputs inputs, const Tensor& y);
void compute(const GroupNormalizationGradient& op, Inputs inputs, const Tensor& y);
void compute(const GroupNormalizationWeightGradient& op, Inputs inputs, const Tensor& y);
void compute(const LocalResponseNormalizationGradient& op, Inputs inputs, const Tensor& y);
void compute(const LstmGradient& op, Inputs inputs, const Tensor& y);
void compute(const RecurrentGradient& op, Inputs inputs, const Tensor& y);
void compute(const GatherGradient& op, Inputs inputs, const Tensor& y);
void compute(const TensorSliceGradient& op, Inputs inputs, const Tensor& y);
void compute(const ResizeGradient& op, Inputs inputs, const Tensor& y);
void compute(const Dropout& op, Inputs inputs, const Tensor& y);
void compute(const Update& op, Inputs inputs, const Tensor& y);
void compute(const RunningAverage& op, Inputs inputs, const Tensor& y);

/// An element of x of which a position of a Resize's result takes a part.
struct ResizeTap {
  std::int64_t at = 0;
  double weight = 0;
};
/// What each position along an axis of y is made of, ascending; of nothing where it lies outside of x, which has
/// `extent` elements along it.
std::vector<std::vector<ResizeTap>> resize_taps(const Resize& op, std::size_t axis, std::int64_t extent);
/// The element of x, of `extent` along an axis, that each position of y takes along it: mode kNearest, but not kCrop.
std::vector<std::int64_t> nearest_elements(const Resize& op, std::size_t axis, std::int64_t extent);

/// y += x, elementwise.
void add(const ConstTensor& x, const Tensor& y);
/// y = x, elementwise.
void copy(const ConstTensor& x, const Tensor& y);

}  // namespace cohort::reference
