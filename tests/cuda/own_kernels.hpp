#pragma once

#include <memory>

#include "executor/host/kernel.hpp"

namespace cohort::testing {

/// Cohort's own CUDA kernels, their bodies run on the host.
std::unique_ptr<HostKernels> make_own_kernels_on_host();

}  // namespace cohort::testing
