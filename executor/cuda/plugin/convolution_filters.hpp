#pragma once

#include <optional>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda {

/// The filters of a convolution, of its gradient by x, which is a ConvTranspose, or by the filters themselves, as cuDNN
/// has them: those of all models one behind another and dense, [K, C/groups, R, S], in the order that the images have.
///
/// Constants are stored so. Filters that are part of a state, and gradients that are part of a pack, lie elsewhere and
/// otherwise: they are copied by a kernel of ours, to the workspace before the convolution or from it behind it.
struct Filters {
  Shape shape, strides;
  std::int64_t models = 1;
};
Filters filters_of(const OpCall& call);

/// Whether the operand has to be copied: it is a view that does not lie as cuDNN's filters do.
bool are_staged(const OpCall& call);
/// The bias of several models' convolutions is part of their states, too.
bool is_bias_staged(const OpCall& call);
/// Bytes of the copies, each a multiple of 64.
Bytes staged_filters(const OpCall& call);
Bytes staged_bias(const OpCall& call);

/// Fills the copy of a convolution's filters, or bias.
own::KernelArguments stage_filters(const OpCall& call, const void* from, void* to);
own::KernelArguments stage_bias(const OpCall& call, const void* from, void* to);
/// Moves the filters' gradient from the copy to its places in each model's pack.
own::KernelArguments unstage_gradient(const OpCall& call, const void* from, void* to);

}  // namespace cohort::cuda
