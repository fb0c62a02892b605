#pragma once

#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda::own {

/// Runs a kernel's body for every thread it would have, one after the other, on host memory: the same
/// arithmetic as on the device, up to the order in which sums are split among threads.
void run_on_host(const KernelArguments& kernel);

}  // namespace cohort::cuda::own
