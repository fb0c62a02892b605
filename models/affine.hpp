#pragma once

#include <optional>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// y = scale[c] * x + shift[c] over the channels, the second axis of x.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

/// What `op` does to its input `x` as a per-channel affine map with constant coefficients, where it
/// is one: BatchNormalization, or arithmetic with a constant of one value or one per channel.
std::optional<ChannelAffine> channel_affine_of(const LoadedModel& loaded, const Op& op, TensorId x);

/// Weight and bias of a Convolution or Gemm that also applies `affine` to its result. The first axis
/// of `weight` is the output channel; a missing bias is zero.
struct WeightAndBias {
  std::vector<float> weight, bias;
};
WeightAndBias fold_affine(const std::vector<float>& weight, const std::vector<float>* bias,
                          const ChannelAffine& affine);

}  // namespace cohort
