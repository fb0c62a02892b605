#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "models/op_dense.hpp"
#include "models/op_elementwise.hpp"
#include "models/op_layout.hpp"
#include "models/op_recurrent.hpp"
#include "models/op_training.hpp"
#include "models/shape.hpp"

namespace cohort {

/// What an op computes. Each op has one output. ONNX ops with several are imported as several ops, or have their
/// results in one tensor (Recurrent).
using OpAttributes =
    std::variant<Convolution, Pool, Gemm, BatchNormalization, LocalResponseNormalization, Activation, Binary, Concat,
                 Softmax, Reshape, Lstm, ConvTranspose, MaxPoolIndices, MatMul, GroupNormalization, LayerNormalization,
                 Recurrent, Select, Cast, Transpose, TensorSlice, Pad, Gather, Scatter, Expand, Tile, Resize, Reduce,
                 ArgMax,
                 // of a training step
                 Pack, Unpack, ConvolutionWeightGradient, GemmWeightGradient, PoolGradient, ActivationGradient,
                 SoftmaxGradient, SoftmaxCrossEntropy, SoftmaxCrossEntropyGradient, BatchStatistics,
                 NormalizeByStatistics, BatchNormalizationWeightGradient, BatchNormalizationGradient,
                 LayerNormalizationGradient, LayerNormalizationWeightGradient, GroupNormalizationGradient,
                 GroupNormalizationWeightGradient, LocalResponseNormalizationGradient, LstmGradient, RecurrentGradient,
                 GatherGradient, TensorSliceGradient, ResizeGradient, Dropout, Update, RunningAverage>;

/// Position of an op among those of OpAttributes.
template <class Op, class... Ops>
constexpr std::size_t op_index(const std::variant<Ops...>* /*of*/) {
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<Op, Ops> ? false : (++index, true)) && ...));
  return index;
}
/// An op that only training steps have. Inference formats and devices refuse it or run it by plain loops.
template <class Op>
concept TrainingOp = op_index<Op>(static_cast<OpAttributes*>(nullptr))
>= op_index<Pack>(static_cast<OpAttributes*>(nullptr));
bool is_training_op(const OpAttributes& attributes);

/// Adds the op's input number `operand` (same shape as the output) to the result. Operands of
/// post-ops stand behind the op's own inputs, in the order of the post-ops.
struct AddOperand {
  std::size_t operand = 0;

  friend bool operator==(const AddOperand&, const AddOperand&) = default;
};

/// Work done on an op's result before it is stored, in order. Only an op's first output has any.
using PostOp = std::variant<AddOperand, Activation>;

/// "Convolution", "MaxPool", "Relu": the op's name in reports; never parsed.
std::string_view op_type(const OpAttributes& attributes);

/// The attributes and post-ops as one line of text. Equal text, equal meaning.
std::string canonical(const OpAttributes& attributes, const std::vector<PostOp>& post_ops);

/// Least and most inputs of an op, without operands of its post-ops.
struct InputCounts {
  std::size_t least = 1, most = 1;
};
InputCounts input_counts(const OpAttributes& attributes);

/// Shape of the output of an op. `shapes` holds one shape per input, weights included.
/// Errors: kInvalidInput naming the dimension that does not fit; Reshape needs its target from
/// elsewhere and is refused.
Result<Shape> infer_shape(const OpAttributes& attributes, const std::vector<Shape>& shapes);

/// The same, but allows extents of zero: for file readers, which handle tensors without elements themselves.
Result<Shape> infer_shape_with_zeros(const OpAttributes& attributes, const std::vector<Shape>& shapes);

/// Type of the output's elements. `types` holds one per input.
/// Errors: kInvalidInput naming the input whose type the op does not take.
Result<ElementType> infer_element(const OpAttributes& attributes, std::span<const ElementType> types);

}  // namespace cohort
