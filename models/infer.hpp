#pragma once

#include "models/op.hpp"

/// Parts of infer_shape() that its sources share.
namespace cohort::infer {

using Shapes = std::vector<Shape>;

/// numpy's broadcasting. Errors: kInvalidInput naming the dimension.
Result<Shape> broadcast(const Shape& a, const Shape& b);
/// Errors: kInvalidInput unless 0 <= axis < rank of `shape`.
Result<void> check_axis(std::int64_t axis, const Shape& shape);
Result<void> expect_rank(std::string_view operand, const Shape& shape, std::size_t rank, std::string_view axes);
Result<void> expect_shape(std::string_view operand, const Shape& shape, const Shape& expected);
/// One entry for each axis of x.
Result<void> expect_per_axis(std::string_view field, std::size_t entries, const Shape& x);

Result<Shape> output(const Convolution& op, const Shapes& shapes);
Result<Shape> output(const ConvTranspose& op, const Shapes& shapes);
Result<Shape> output(const Pool& op, const Shapes& shapes);
Result<Shape> output(const MaxPoolIndices& op, const Shapes& shapes);
Result<Shape> output(const Gemm& op, const Shapes& shapes);
Result<Shape> output(const MatMul& op, const Shapes& shapes);
Result<Shape> output(const BatchNormalization& op, const Shapes& shapes);
Result<Shape> output(const GroupNormalization& op, const Shapes& shapes);
Result<Shape> output(const LayerNormalization& op, const Shapes& shapes);
Result<Shape> output(const LocalResponseNormalization& op, const Shapes& shapes);
Result<Shape> output(const Activation& op, const Shapes& shapes);
Result<Shape> output(const Binary& op, const Shapes& shapes);
Result<Shape> output(const Select& op, const Shapes& shapes);
Result<Shape> output(const Cast& op, const Shapes& shapes);
Result<Shape> output(const Softmax& op, const Shapes& shapes);
Result<Shape> output(const Lstm& op, const Shapes& shapes);
Result<Shape> output(const Recurrent& op, const Shapes& shapes);
Result<Shape> output(const Concat& op, const Shapes& shapes);
Result<Shape> output(const Reshape& op, const Shapes& shapes);
Result<Shape> output(const Transpose& op, const Shapes& shapes);
Result<Shape> output(const TensorSlice& op, const Shapes& shapes);
Result<Shape> output(const Pad& op, const Shapes& shapes);
Result<Shape> output(const Gather& op, const Shapes& shapes);
Result<Shape> output(const Scatter& op, const Shapes& shapes);
Result<Shape> output(const Expand& op, const Shapes& shapes);
Result<Shape> output(const Tile& op, const Shapes& shapes);
Result<Shape> output(const Resize& op, const Shapes& shapes);
Result<Shape> output(const Reduce& op, const Shapes& shapes);
Result<Shape> output(const ArgMax& op, const Shapes& shapes);

Result<Shape> output(const Pack& op, const Shapes& shapes);
Result<Shape> output(const Unpack& op, const Shapes& shapes);
Result<Shape> output(const ConvolutionWeightGradient& op, const Shapes& shapes);
Result<Shape> output(const GemmWeightGradient& op, const Shapes& shapes);
Result<Shape> output(const PoolGradient& op, const Shapes& shapes);
Result<Shape> output(const ActivationGradient& op, const Shapes& shapes);
Result<Shape> output(const SoftmaxGradient& op, const Shapes& shapes);
Result<Shape> output(const SoftmaxCrossEntropy& op, const Shapes& shapes);
Result<Shape> output(const SoftmaxCrossEntropyGradient& op, const Shapes& shapes);
Result<Shape> output(const BatchStatistics& op, const Shapes& shapes);
Result<Shape> output(const NormalizeByStatistics& op, const Shapes& shapes);
Result<Shape> output(const BatchNormalizationWeightGradient& op, const Shapes& shapes);
Result<Shape> output(const BatchNormalizationGradient& op, const Shapes& shapes);
Result<Shape> output(const LayerNormalizationGradient& op, const Shapes& shapes);
Result<Shape> output(const LayerNormalizationWeightGradient& op, const Shapes& shapes);
Result<Shape> output(const GroupNormalizationGradient& op, const Shapes& shapes);
Result<Shape> output(const GroupNormalizationWeightGradient& op, const Shapes& shapes);
Result<Shape> output(const LocalResponseNormalizationGradient& op, const Shapes& shapes);
Result<Shape> output(const LstmGradient& op, const Shapes& shapes);
Result<Shape> output(const RecurrentGradient& op, const Shapes& shapes);
Result<Shape> output(const GatherGradient& op, const Shapes& shapes);
Result<Shape> output(const TensorSliceGradient& op, const Shapes& shapes);
Result<Shape> output(const ResizeGradient& op, const Shapes& shapes);
Result<Shape> output(const Dropout& op, const Shapes& shapes);
Result<Shape> output(const Update& op, const Shapes& shapes);
Result<Shape> output(const RunningAverage& op, const Shapes& shapes);

}  // namespace cohort::infer
