#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/shape.hpp"

/// Ops with weights or windows. Inputs are listed in their order.
namespace cohort {

/// The sliding window of a convolution or pooling; one entry per spatial dimension (H, W), of which
/// there are 1 to 3.
struct Window {
  std::vector<std::int64_t> kernel, stride, pad_begin, pad_end, dilation;

  friend bool operator==(const Window&, const Window&) = default;
};

/// What a quantised product reads. Its x holds `step` times whole numbers from `from` to `from` + 255, among which 0
/// is, and w, a constant, holds one number for each output times whole numbers from -128 to 127: devices may multiply
/// 8-bit numbers in place of float32 ones. Tells what there is; the result is the same.
struct EightBits {
  float step = 1;
  float from = 0;

  friend bool operator==(const EightBits&, const EightBits&) = default;
};

/// What a product with quantised weights reads: each row of the constant w is blocks of `block` adjoining elements, of
/// which the last may be shorter, and all of a block are one number times whole numbers of `bits` bits, 4 or 8. Devices
/// may keep these in place of float32 numbers. Tells what there is; the result is the same.
struct QuantizedWeights {
  std::int64_t block = 0;
  int bits = 8;

  friend bool operator==(const QuantizedWeights&, const QuantizedWeights&) = default;
};

/// Convolution without flipping the kernel.
/// Inputs: x [N, C, H, W]; w [K, C/groups, R, S]; b [K], optional. Output: y [N, K, P, Q] with
///   P = floor((H + pad_begin + pad_end - dilation*(R-1) - 1) / stride) + 1, Q likewise.
/// One and three spatial dimensions likewise. Parameters of M models whose channels are stacked may have a leading
/// model axis: w [M, K/M, C/groups, R, S], b [M, K/M]; `groups` are those of all models, or one model's where all share
/// x. Source: Dumoulin & Visin, arXiv:1603.07285.
struct Convolution {
  Window window;
  std::int64_t groups = 1;
  std::optional<EightBits> eight_bits = {};

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// Transposed convolution: each x element adds its kernel, scaled, to y.
/// Inputs: x [N, C, H, W]; w [C, K/groups, R, S]; b [K], optional. Output: y [N, K, P, Q] with
///   P = stride*(H-1) + output_pad + dilation*(R-1) + 1 - pad_begin - pad_end, Q likewise.
/// Pads may be negative: then y has rows that hold only the bias. Parameters may have a model axis, as those of
/// Convolution.
struct ConvTranspose {
  Window window;
  std::vector<std::int64_t> output_pad;
  std::int64_t groups = 1;

  friend bool operator==(const ConvTranspose&, const ConvTranspose&) = default;
};

enum class PoolKind { kMax, kAverage };

/// Pooling. Input x [N, C, H, W], output y [N, C, P, Q]; P and Q round up where `ceil_mode`, but a window that would
/// start behind x and its leading padding is left out. Averages divide by the number of elements inside x, or with
/// `count_include_pad` inside x and its padding, not counting what `ceil_mode` adds. Pooling over the whole of H and W
/// is global pooling.
struct Pool {
  PoolKind kind = PoolKind::kMax;
  Window window;
  bool ceil_mode = false;
  bool count_include_pad = false;

  friend bool operator==(const Pool&, const Pool&) = default;
};

/// Where max pooling finds its maxima: int32 positions in x as a dense [N, C, H, W], or with
/// `column_major` [N, C, W, H] tensor. The first of equals wins.
struct MaxPoolIndices {
  Window window;
  bool ceil_mode = false;
  bool column_major = false;

  friend bool operator==(const MaxPoolIndices&, const MaxPoolIndices&) = default;
};

/// y = x w^T + b. Inputs: x [N, ...], flattened to [N, I] in logical order; w [O, I]; b [O], optional.
/// Output: y [N, O]. With `stacked` every operand has a leading model axis B: x [B, N, ...],
/// w [B, O, I], b [B, O], y [B, N, O].
struct Gemm {
  bool stacked = false;
  std::optional<EightBits> eight_bits = {};
  std::optional<QuantizedWeights> quantized_weights = {};  ///< absent where eight_bits is there

  friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// y = a b over the last two axes, the leading ones broadcast as numpy does. Inputs: a [..., M, K],
/// or [..., K, M] with `transpose_a`; b [..., K, N], or [..., N, K] with `transpose_b`; both have 2 or
/// more axes. Output: y [..., M, N].
struct MatMul {
  bool transpose_a = false;
  bool transpose_b = false;

  friend bool operator==(const MatMul&, const MatMul&) = default;
};

/// Inference-time batch normalisation over channels: y = scale*(x - mean)/sqrt(variance + epsilon) + shift.
/// Inputs: x [N, C, ...]; scale, shift, mean, variance [C].
struct BatchNormalization {
  float epsilon = 1e-5F;
  float momentum = 0.1F;  ///< in training: weight of a minibatch's statistics in the running ones

  friend bool operator==(const BatchNormalization&, const BatchNormalization&) = default;
};

/// Each sample's channels in `groups` of equal size, normalised over a group and all positions, then
/// y = scale*normalised + shift. Inputs: x [N, C, ...]; scale, shift, both [C] or both [groups].
/// A group per channel is instance normalisation (Ulyanov et al., arXiv:1607.08022).
/// Source: Wu & He, arXiv:1803.08494.
struct GroupNormalization {
  std::int64_t groups = 1;
  float epsilon = 1e-5F;

  friend bool operator==(const GroupNormalization&, const GroupNormalization&) = default;
};

/// Normalised over all axes from `axis` (>= 0) on, then y = scale*normalised + shift.
/// Inputs: x; scale and, optional, shift, which broadcast to x as numpy does.
/// Not `centred`: x is divided by its root mean square alone, as language models do, and has no gradient.
/// Source: Ba et al., arXiv:1607.06450; Zhang & Sennrich, arXiv:1910.07467.
struct LayerNormalization {
  std::int64_t axis = 1;
  float epsilon = 1e-5F;
  bool centred = true;

  friend bool operator==(const LayerNormalization&, const LayerNormalization&) = default;
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

/// y = exp(x) / sum of exp(x) along `axis` (>= 0), computed from x - max(x); or its logarithm.
struct Softmax {
  std::int64_t axis = 1;
  bool logarithm = false;

  friend bool operator==(const Softmax&, const Softmax&) = default;
};

}  // namespace cohort
