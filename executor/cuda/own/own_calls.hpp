#pragma once

#include <memory>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda {

/// Runs own kernels.
class KernelLauncher {
 public:
  KernelLauncher() = default;
  KernelLauncher(const KernelLauncher&) = delete;
  KernelLauncher& operator=(const KernelLauncher&) = delete;
  virtual ~KernelLauncher() = default;

  /// Throws DeviceError.
  virtual void launch(const own::KernelArguments& kernel, StreamHandle stream) = 0;
};

/// Every op by Cohort's own kernels: one algorithm for each kind of op ("own:pool"), and a second for recurrent layers
/// ("own:steps", own/recurrent_steps.hpp); ops of several members in few launches ("grouped", "grouped:steps"). Sums in
/// float32, on views of any strides, but for the input of products, whose samples must lie together. The launcher must
/// outlive what the factory prepares.
std::unique_ptr<CallFactory> make_own_calls(KernelLauncher& launcher);

/// The first algorithm of own kernels for a call that is not grouped.
Alternative own_alternative(const OpCall& call);

/// A kernel that does what is left of a call after y holds the op's bare result: adds `bias` along
/// dimension 1 of y (null: none), then the post-ops from number `first` on.
/// Errors: kInvalidInput where there are too many of them.
Result<own::MapArguments> make_epilogue(const OpCall& call, const CallArguments& arguments, const void* bias,
                                        std::size_t first = 0);

}  // namespace cohort::cuda
