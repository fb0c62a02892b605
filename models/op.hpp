#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "models/op_dense.hpp"
#include "models/op_elementwise.hpp"
#include "models/op_layout.hpp"
#include "models/op_recurrent.hpp"
#include "models/shape.hpp"

namespace cohort {

/// What an op computes. Each has one output; ONNX ops with several are imported as several ops, or
/// have their results in one tensor (Recurrent).
using OpAttributes =
    std::variant<Convolution, Pool, Gemm, BatchNormalization, LocalResponseNormalization, Activation, Binary, Concat,
                 Softmax, Reshape, Lstm, ConvTranspose, MaxPoolIndices, MatMul, GroupNormalization, LayerNormalization,
                 Recurrent, Select, Cast, Transpose, TensorSlice, Pad, Gather, Expand, Tile, Resize, Reduce, ArgMax>;

/// Adds the op's input number `operand` (same shape as the output) to the result. Operands of
/// post-ops stand behind the op's own inputs, in the order of the post-ops.
struct AddOperand {
  std::size_t operand = 0;

  friend bool operator==(const AddOperand&, const AddOperand&) = default;
};

/// Work done on an op's result before it is stored, in order. Only an op's first output has any.
using PostOp = std::variant<AddOperand, Activation>;

/// "Convolution", "MaxPool", "Relu": what a person calls the op; part of reports, never parsed.
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

/// The same where extents may be zero: for readers, which compute tensors without elements themselves.
Result<Shape> infer_shape_with_zeros(const OpAttributes& attributes, const std::vector<Shape>& shapes);

/// Type of the output's elements. `types` holds one per input.
/// Errors: kInvalidInput naming the input that has another type than the op takes.
Result<ElementType> infer_element(const OpAttributes& attributes, std::span<const ElementType> types);

}  // namespace cohort
