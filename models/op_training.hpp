#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/op_dense.hpp"
#include "models/op_elementwise.hpp"
#include "models/op_layout.hpp"
#include "models/op_recurrent.hpp"
#include "models/shape.hpp"

/// Ops of a training step: losses, gradients that no other op computes, and updates of states.
///
/// dx is the gradient of the loss by x. Several gradients of one op share a one-dimensional tensor, a *pack*: one after
/// another, row-major, each starting at a multiple of kPackAlignment elements. The pack's size is a multiple of that,
/// too, and gaps are zero. `stacked` ops have a leading model axis M on every operand, as Gemm has.
namespace cohort {

/// Elements; a cache line.
inline constexpr std::int64_t kPackAlignment = 16;
/// The first aligned offset after `elements` elements.
inline std::int64_t pack_place(std::int64_t elements) {
  return (elements + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
}

/// y [size]: input i, row-major, from element offsets[i] on; parts do not overlap. Elements of no part are zero.
struct Pack {
  std::vector<std::int64_t> offsets;
  std::int64_t size = 0;

  friend bool operator==(const Pack&, const Pack&) = default;
};
/// The pack of parts of these shapes, in their order.
Pack pack_of(const std::vector<Shape>& parts);

/// y, in `shape`: elements of x, row-major, from element `offset` on. x is a pack [P], or a state [R, P] whose first
/// row is a pack.
struct Unpack {
  std::int64_t offset = 0;
  Shape shape;

  friend bool operator==(const Unpack&, const Unpack&) = default;
};

/// Gradient of a Convolution by its parameters. Inputs: x [N, M*C, H, W]; dy [N, M*K, P, Q]. Output [size]: the pack of
/// dw [K, C/groups, R, S] and, with `bias`, db [K]. With `models` M > 1, for a model batch of convolutions with stacked
/// channels, the output is [M, size]. `groups` are those of one model. With a shared input, x is [N, C, H, W] and
/// `shared_input` set. One and three spatial dimensions likewise.
struct ConvolutionWeightGradient {
  Window window;
  std::int64_t groups = 1;
  bool bias = false;
  std::int64_t models = 1;
  bool shared_input = false;

  friend bool operator==(const ConvolutionWeightGradient&, const ConvolutionWeightGradient&) = default;
};

/// Gradient of a Gemm by its parameters. Inputs: x [N, ...], flattened to [N, I]; dy [N, O]. Output [size]: the pack of
/// dw [O, I] and, with `bias`, db [O]. With `stacked`: x [M, N, ...], dy [M, N, O], output [M, size].
struct GemmWeightGradient {
  bool bias = false;
  bool stacked = false;

  friend bool operator==(const GemmWeightGradient&, const GemmWeightGradient&) = default;
};

/// Gradient of a Pool by x, which has `extents` [H, W]. Inputs: dy [N, C, P, Q]; for max pooling also x [N, C, H, W].
/// Output: dx [N, C, H, W]. The first of equal maxima gets the whole gradient.
struct PoolGradient {
  Pool pool;
  std::vector<std::int64_t> extents;

  friend bool operator==(const PoolGradient&, const PoolGradient&) = default;
};

/// Gradient of an Activation by x. Inputs: z, dy; z is y where derives_from_result() says so, else x. Output: dx.
struct ActivationGradient {
  Activation activation;

  friend bool operator==(const ActivationGradient&, const ActivationGradient&) = default;
};
/// Whether f'(x) is computed from y = f(x), so that x need not be kept. True of relu, sigmoid, tanh, exp and similar
/// ones.
bool derives_from_result(ActivationKind kind);

/// Gradient of a Softmax by x. Inputs: y, dy. Output: dx.
struct SoftmaxGradient {
  std::int64_t axis = 1;
  bool logarithm = false;

  friend bool operator==(const SoftmaxGradient&, const SoftmaxGradient&) = default;
};

enum class LossReduction { kMean, kSum };

/// Negative logarithm of the softmax of the right class, over all samples. Inputs: x [N, K, ...], labels (int32) [N,
/// ...]; samples labelled `ignored` do not count; any other label outside 0 to K - 1 stops the step. Output: loss [1];
/// the mean over no samples is zero. With `stacked`: x [M, N, K, ...], labels [M, N, ...], loss [M, 1].
/// Source: ONNX operator SoftmaxCrossEntropyLoss-13, without class weights.
struct SoftmaxCrossEntropy {
  LossReduction reduction = LossReduction::kMean;
  std::optional<std::int32_t> ignored;
  bool stacked = false;

  friend bool operator==(const SoftmaxCrossEntropy&, const SoftmaxCrossEntropy&) = default;
};

/// Gradient of a SoftmaxCrossEntropy by x. Inputs: x, labels, as there. Output: dx, of x's shape.
struct SoftmaxCrossEntropyGradient {
  SoftmaxCrossEntropy loss;

  friend bool operator==(const SoftmaxCrossEntropyGradient&, const SoftmaxCrossEntropyGradient&) = default;
};

/// Mean and variance (by the number of elements) of each channel over samples and positions. Input: x [N, C, ...].
/// Output [2, C]: means, variances.
struct BatchStatistics {
  friend bool operator==(const BatchStatistics&, const BatchStatistics&) = default;
};

/// Batch normalisation by a minibatch's own statistics: y = scale*(x - mean)/sqrt(variance + epsilon) + shift.
/// Inputs: x [N, C, ...]; scale, shift [C]; statistics [2, C]. Output: y.
/// Source: Ioffe & Szegedy, arXiv:1502.03167.
struct NormalizeByStatistics {
  float epsilon = 1e-5F;

  friend bool operator==(const NormalizeByStatistics&, const NormalizeByStatistics&) = default;
};

/// Gradients of batch normalisation by its parameters. Inputs: x, statistics [2, C], dy. Output: the pack of dscale [C]
/// and dshift [C].
struct BatchNormalizationWeightGradient {
  float epsilon = 1e-5F;

  friend bool operator==(const BatchNormalizationWeightGradient&, const BatchNormalizationWeightGradient&) = default;
};

/// Gradient of batch normalisation by x, whose statistics depend on x, too. Inputs: x, scale [C], statistics [2, C],
/// dy, and what BatchNormalizationWeightGradient gives. Output: dx.
struct BatchNormalizationGradient {
  float epsilon = 1e-5F;

  friend bool operator==(const BatchNormalizationGradient&, const BatchNormalizationGradient&) = default;
};

/// Gradient of a LayerNormalization by x. Inputs: x, scale (of the shape of x from `axis` on), dy. Output: dx.
struct LayerNormalizationGradient {
  std::int64_t axis = 1;
  float epsilon = 1e-5F;

  friend bool operator==(const LayerNormalizationGradient&, const LayerNormalizationGradient&) = default;
};
/// ... and by its parameters. Inputs: x, dy. Output: the pack of dscale and dshift, of the shape of x from `axis` on.
struct LayerNormalizationWeightGradient {
  std::int64_t axis = 1;
  float epsilon = 1e-5F;

  friend bool operator==(const LayerNormalizationWeightGradient&, const LayerNormalizationWeightGradient&) = default;
};

/// Gradient of a GroupNormalization by x. Inputs: x, scale ([C] or [groups]), dy. Output: dx.
struct GroupNormalizationGradient {
  std::int64_t groups = 1;
  float epsilon = 1e-5F;

  friend bool operator==(const GroupNormalizationGradient&, const GroupNormalizationGradient&) = default;
};
/// ... and by its parameters. Inputs: x, dy. Output: the pack of dscale and dshift, `per_group` both [groups], else
/// [C].
struct GroupNormalizationWeightGradient {
  std::int64_t groups = 1;
  float epsilon = 1e-5F;
  bool per_group = false;

  friend bool operator==(const GroupNormalizationWeightGradient&, const GroupNormalizationWeightGradient&) = default;
};

/// Gradient of a LocalResponseNormalization by x. Inputs: x, dy. Output: dx.
struct LocalResponseNormalizationGradient {
  LocalResponseNormalization normalization;

  friend bool operator==(const LocalResponseNormalizationGradient&,
                         const LocalResponseNormalizationGradient&) = default;
};

/// Gradients of an Lstm. Inputs: x [T, N, I], w, r, b, as there, y and dy [T, N, H]. Output: the pack of dx, dw, dr,
/// db.
struct LstmGradient {
  std::int64_t hidden = 0;

  friend bool operator==(const LstmGradient&, const LstmGradient&) = default;
};

/// Gradients of a Recurrent. Inputs: the layer's own, then y and dy. Output: the pack of the gradients of all inputs of
/// floating point, in their order.
struct RecurrentGradient {
  Recurrent layer;

  friend bool operator==(const RecurrentGradient&, const RecurrentGradient&) = default;
};

/// Gradient of a Gather by x, which has `extent` entries along `axis`. Inputs: indices (int32), dy. Output: dx.
/// Entries that were gathered several times get the sum.
struct GatherGradient {
  std::int64_t axis = 0;
  std::int64_t extent = 0;

  friend bool operator==(const GatherGradient&, const GatherGradient&) = default;
};

/// Gradient of a TensorSlice by x of `shape`: dy where it was taken from, zero elsewhere. Input: dy. Output: dx.
struct TensorSliceGradient {
  std::vector<std::int64_t> start, step;
  Shape shape;

  friend bool operator==(const TensorSliceGradient&, const TensorSliceGradient&) = default;
};

/// Gradient of a Resize by x of `shape`. Input: dy. Output: dx.
struct ResizeGradient {
  Resize resize;
  Shape shape;

  friend bool operator==(const ResizeGradient&, const ResizeGradient&) = default;
};

/// x with some elements set to zero at random and the others divided by 1 - rate. Inputs: x; rate [1], at least 0 and
/// below 1; key [4] (int32: a member's seed, low and high half; step; sampling stream). Element i is kept where
/// random_bits(key, salt, i) says so, so that gradients draw what the forward pass drew. With `stacked`: x [M, ...],
/// rate [M, 1], key [M, 4]; i counts within a member.
/// Source: Srivastava et al., JMLR 15 (2014); random numbers: Salmon et al., Philox4x32-10, SC11.
struct Dropout {
  std::uint32_t salt = 0;  ///< tells the dropouts of one model apart
  bool stacked = false;

  friend bool operator==(const Dropout&, const Dropout&) = default;
};

/// Positions in a member's settings, which Update reads and each step sets anew.
enum class Setting {
  kLearningRate,
  kMomentum,  ///< of kSgd
  kWeightDecay,
  kBeta1,  ///< of kAdam and kAdamW, as the next four
  kBeta2,
  kEpsilon,
  kCorrection1,  ///< 1 - beta1^step, step from 1
  kCorrection2,
  kClipNorm,  ///< largest gradient norm; infinity: no clipping
  kDropoutRate,
};
inline constexpr std::int64_t kSettingCount = 10;

enum class UpdateRule {
  kSgd,    ///< state: w; with `momentum` w, velocity
  kAdam,   ///< state: w, first and second moment. Source: Kingma & Ba, arXiv:1412.6980
  kAdamW,  ///< the same with weight decay apart. Source: Loshchilov & Hutter, arXiv:1711.05101
};

/// One optimizer step on all parameters of a member, as PyTorch 2 defines it. Inputs: state [R, P], whose R = 1 to 3
/// rows depend on the rule; gradient [P]; settings [kSettingCount]; with `clip` the gradient's norm [1].
/// Output: the state's next value, [R, P], which takes the state's own memory. With `stacked` all have a leading axis
/// M.
struct Update {
  UpdateRule rule = UpdateRule::kSgd;
  bool momentum = false;  ///< of kSgd
  bool nesterov = false;  ///< of kSgd
  bool clip = false;      ///< gradient * min(1, clip norm / (norm + 1e-6))
  bool stacked = false;

  friend auto operator<=>(const Update&, const Update&) = default;
};
/// Rows of the state of an Update: 1 to 3.
std::int64_t state_rows(const Update& update);

/// state + momentum*(value - state): updates running statistics by a minibatch's. Inputs: state [S], value [S]. Output:
/// the state's next value, [S], which takes the state's own memory. With `stacked` both have a leading axis M.
struct RunningAverage {
  float momentum = 0.1F;
  bool stacked = false;

  friend bool operator==(const RunningAverage&, const RunningAverage&) = default;
};

}  // namespace cohort
