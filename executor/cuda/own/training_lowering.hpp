#pragma once

#include "executor/cuda/own/lowering.hpp"

/// Kernels of the ops of training steps, and what they need of the workspace, in float32 elements.
namespace cohort::cuda::own {

KernelArguments kernel_of(const ActivationGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const SoftmaxGradient& op, const OpCall& call, const Operands& operands);
std::int64_t workspace_values(const SoftmaxCrossEntropy& op, const OpCall& call);
std::vector<KernelArguments> kernels_of(const SoftmaxCrossEntropy& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const SoftmaxCrossEntropyGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Dropout& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Update& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const RunningAverage& op, const OpCall& call, const Operands& operands);

// Normalisations.
KernelArguments kernel_of(const BatchStatistics& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const NormalizeByStatistics& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const BatchNormalizationWeightGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const BatchNormalizationGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const LayerNormalizationGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const GroupNormalizationGradient& op, const OpCall& call, const Operands& operands);
std::int64_t workspace_values(const LayerNormalizationWeightGradient& op, const OpCall& call);
std::int64_t workspace_values(const GroupNormalizationWeightGradient& op, const OpCall& call);
std::vector<KernelArguments> kernels_of(const LayerNormalizationWeightGradient& op, const OpCall& call,
                                        const Operands& operands);
std::vector<KernelArguments> kernels_of(const GroupNormalizationWeightGradient& op, const OpCall& call,
                                        const Operands& operands);
KernelArguments kernel_of(const LocalResponseNormalizationGradient& op, const OpCall& call, const Operands& operands);
/// Of parameters that are no constants: BatchNormalization in the evaluation of what is trained.
KernelArguments normalization_by_views(const BatchNormalization& op, const Operands& operands);

// Convolutions, products, pooling.
/// The elements of each model's pack from `first` on; db only where `bias` is not there already.
FilterGradientArguments filter_gradient(const ConvolutionWeightGradient& op, const Operands& operands,
                                        std::int64_t first, bool bias_is_there);
ProductGradientArguments product_gradient(const GemmWeightGradient& op, const Operands& operands,
                                          const ProductRows& rows, std::int64_t first, bool bias_is_there);
KernelArguments kernel_of(const ConvolutionWeightGradient& op, const OpCall& call, const Operands& operands);
std::int64_t workspace_values(const GemmWeightGradient& op, const OpCall& call);
std::vector<KernelArguments> kernels_of(const GemmWeightGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const PoolGradient& op, const OpCall& call, const Operands& operands);

// What only moves, or adds up what was moved.
std::vector<KernelArguments> kernels_of(const Pack& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const Unpack& op, const OpCall& call, const Operands& operands);
std::vector<KernelArguments> kernels_of(const GatherGradient& op, const OpCall& call, const Operands& operands);
std::vector<KernelArguments> kernels_of(const TensorSliceGradient& op, const OpCall& call, const Operands& operands);
KernelArguments kernel_of(const ResizeGradient& op, const OpCall& call, const Operands& operands);

// Recurrent layers.
std::int64_t workspace_values(const LstmGradient& op, const OpCall& call);
std::int64_t workspace_values(const RecurrentGradient& op, const OpCall& call);
std::vector<KernelArguments> kernels_of(const LstmGradient& op, const OpCall& call, const Operands& operands);
std::vector<KernelArguments> kernels_of(const RecurrentGradient& op, const OpCall& call, const Operands& operands);

}  // namespace cohort::cuda::own
