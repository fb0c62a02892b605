#pragma once

#include <optional>
#include <vector>

#include "models/affine.hpp"
#include "models/op_dense.hpp"

namespace cohort {

/// A convolution with its constants. `weight` has the shape `shape`, [K, C/groups, ...]; a missing bias is zero.
struct ConvolutionWeights {
  const Convolution& convolution;
  const Shape& shape;
  const std::vector<float>& weight;
  const std::vector<float>* bias = nullptr;
};

/// Branches that read one tensor and whose results are added are one convolution, as networks that are trained with
/// more branches than they need to compute with mean it. Source: Ding et al., "RepVGG", CVPR 2021, section 3.3.
///
/// Weight and bias of `wide` that also computes `narrow`; nothing where `narrow` reads an element that `wide` does not,
/// or differs in stride, groups or channels.
std::optional<WeightAndBias> with_branch(const ConvolutionWeights& wide, const ConvolutionWeights& narrow);

/// Weight and bias of `wide` that also adds `affine` of what it reads; nothing where an output element does not lie on
/// an input element of its own.
std::optional<WeightAndBias> with_affine_branch(const ConvolutionWeights& wide, const ChannelAffine& affine);

}  // namespace cohort
