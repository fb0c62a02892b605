#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Extents of a tensor in logical order; images are [N, C, H, W] whatever the layout in memory.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar. Stops at the largest std::int64_t.
std::int64_t element_count(const Shape& shape);
/// Errors: kInvalidInput for an extent below 1 or more than 2^40 elements.
Result<void> check_shape(const Shape& shape);
/// "[16, 3, 227, 227]"
std::string to_string(const Shape& shape);

/// The sliding window of a convolution or pooling; one entry per spatial dimension (H, W).
struct Window {
  std::vector<std::int64_t> kernel, stride, pad_begin, pad_end, dilation;

  friend bool operator==(const Window&, const Window&) = default;
};

enum class ActivationKind { kRelu, kLeakyRelu, kElu, kSigmoid, kTanh, kClip };

/// Elementwise y = f(x). alpha: slope or scale of LeakyRelu and Elu, lower bound of Clip; beta: upper
/// bound of Clip.
struct Activation {
  ActivationKind kind = ActivationKind::kRelu;
  float alpha = 0;
  float beta = 0;

  friend bool operator==(const Activation&, const Activation&) = default;
};

/// Convolution without flipping the kernel.
/// Inputs: x [N, C, H, W]; w [K, C/groups, R, S]; b [K], optional. Output: y [N, K, P, Q] with
///   P = floor((H + pad_begin + pad_end - dilation*(R-1) - 1) / stride) + 1, Q likewise.
/// Source: Dumoulin & Visin, arXiv:1603.07285.
struct Convolution {
  Window window;
  std::int64_t groups = 1;

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

enum class PoolKind { kMax, kAverage };

/// Pooling. Input x [N, C, H, W], output y [N, C, P, Q]; P and Q round up where `ceil_mode`, but a
/// window that would start behind x and its leading padding is left out.
/// Averages divide by the elements inside x, or by the whole window with `count_include_pad`.
/// Pooling over the whole of H and W is global pooling.
struct Pool {
  PoolKind kind = PoolKind::kMax;
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = false;

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// y = x w^T + b. Inputs: x [N, ...], flattened to [N, I] in logical order; w [O, I]; b [O], optional.
/// Output: y [N, O]. With `stacked` every operand has a leading model axis B: x [B, N, ...],
/// w [B, O, I], b [B, O], y [B, N, O].
struct Gemm {
  bool stacked = false;

  friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// Inference-time batch normalisation over channels: y = scale*(x - mean)/sqrt(variance + epsilon) + shift.
/// Inputs: x [N, C, ...]; scale, shift, mean, variance [C].
struct BatchNormalization {
  float epsilon = 1e-5F;

  friend bool operator==(const BatchNormalization&, const BatchNormalization&) = default;
};

/// Local response normalisation across channels, as in ONNX LRN:
/// y[c] = x[c] / (bias + alpha/size * sum of x[i]^2 over the `size` channels around c)^beta.
struct LocalResponseNormalization {
  std::int64_t size = 5;
  float alpha = 1e-4F;
  float beta = 0.75F;
  float bias = 1;

  friend bool operator==(const LocalResponseNormalization&, const LocalResponseNormalization&) = default;
};

enum class BinaryKind { kAdd, kSub, kMul, kDiv };

/// Elementwise y = f(a, b) with numpy broadcasting of both inputs to y.
struct Binary {
  BinaryKind kind = BinaryKind::kAdd;

  friend bool operator==(const Binary&, const Binary&) = default;
};

/// Joins its inputs along `axis` (>= 0).
struct Concat {
  std::int64_t axis = 1;

  friend bool operator==(const Concat&, const Concat&) = default;
};

/// y = exp(x) / sum of exp(x) along `axis` (>= 0), computed from x - max(x).
struct Softmax {
  std::int64_t axis = 1;

  friend bool operator==(const Softmax&, const Softmax&) = default;
};

/// The same elements, in logical order, in another shape: that of the output tensor.
struct Reshape {
  friend bool operator==(const Reshape&, const Reshape&) = default;
};

/// One-layer forward LSTM, initial state zero.
/// Inputs: x [T, N, I]; w [4H, I]; r [4H, H]; b [4H] (the sum of input and recurrent bias), with
/// gates in ONNX's order: input, output, forget, cell. Output: y [T, N, H].
/// Source: Hochreiter & Schmidhuber 1997, without peepholes.
struct Lstm {
  std::int64_t hidden = 0;

  friend bool operator==(const Lstm&, const Lstm&) = default;
};

using OpAttributes = std::variant<Convolution, Pool, Gemm, BatchNormalization, LocalResponseNormalization, Activation,
                                  Binary, Concat, Softmax, Reshape, Lstm>;

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

/// Shape of the output of an op. `shapes` holds one shape per input, weights included.
/// Errors: kInvalidInput naming the dimension that does not fit; Reshape needs its target from
/// elsewhere and is refused.
Result<Shape> infer_shape(const OpAttributes& attributes, const std::vector<Shape>& shapes);

}  // namespace cohort
