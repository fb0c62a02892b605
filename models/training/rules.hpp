#pragma once

#include "models/training/backward.hpp"

/// The gradient rule of each op: from the gradient of its result it makes the wanted gradients of its inputs. Rules use
/// the ops of inference where these suffice, else those of models/op_training.hpp.
namespace cohort::training {

// rules_dense.cpp
Result<void> gradient(const Convolution& op, OpGradient& at);
Result<void> gradient(const ConvTranspose& op, OpGradient& at);
Result<void> gradient(const Pool& op, OpGradient& at);
Result<void> gradient(const Gemm& op, OpGradient& at);
Result<void> gradient(const MatMul& op, OpGradient& at);

// rules_elementwise.cpp
Result<void> gradient(const Activation& op, OpGradient& at);
Result<void> gradient(const Binary& op, OpGradient& at);
Result<void> gradient(const Select& op, OpGradient& at);
Result<void> gradient(const Cast& op, OpGradient& at);
Result<void> gradient(const Dropout& op, OpGradient& at);

// rules_layout.cpp
Result<void> gradient(const Concat& op, OpGradient& at);
Result<void> gradient(const Reshape& op, OpGradient& at);
Result<void> gradient(const Transpose& op, OpGradient& at);
Result<void> gradient(const TensorSlice& op, OpGradient& at);
Result<void> gradient(const Pad& op, OpGradient& at);
Result<void> gradient(const Gather& op, OpGradient& at);
Result<void> gradient(const Scatter& op, OpGradient& at);
Result<void> gradient(const Expand& op, OpGradient& at);
Result<void> gradient(const Tile& op, OpGradient& at);
Result<void> gradient(const Resize& op, OpGradient& at);

// rules_reduce.cpp
Result<void> gradient(const Reduce& op, OpGradient& at);

// rules_normalization.cpp
Result<void> gradient(const NormalizeByStatistics& op, OpGradient& at);
Result<void> gradient(const GroupNormalization& op, OpGradient& at);
Result<void> gradient(const LayerNormalization& op, OpGradient& at);
Result<void> gradient(const LocalResponseNormalization& op, OpGradient& at);
Result<void> gradient(const Softmax& op, OpGradient& at);
Result<void> gradient(const SoftmaxCrossEntropy& op, OpGradient& at);

// rules_recurrent.cpp
Result<void> gradient(const Lstm& op, OpGradient& at);
Result<void> gradient(const Recurrent& op, OpGradient& at);

template <class Other>
Result<void> gradient(const Other& /*op*/, OpGradient& at) {
  return at.refuse();
}

}  // namespace cohort::training
