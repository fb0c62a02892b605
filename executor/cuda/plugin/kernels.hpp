#pragma once

#include <driver_types.h>

#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda {

/// Gives a kernel to a stream. The status is the launch's own.
cudaError_t launch_kernel(const own::KernelArguments& kernel, cudaStream_t stream);

}  // namespace cohort::cuda
