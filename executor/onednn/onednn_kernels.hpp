#pragma once

#include <memory>

#include "base/device.hpp"
#include "executor/host/kernel.hpp"

namespace cohort {

/// Ops on the CPU by oneDNN 2.6: bias, added operands and activations fused as post-ops, weights
/// packed once, scratchpads owned by the caller. `cores` is the most threads an op may use.
///
/// Algorithms are named as the library names its implementations ("brgconv:avx512_core"), those of
/// Gemm with the primitive before ("matmul/brg:avx512_core"); group and instance normalisation, which
/// oneDNN lacks, have "loops", and other calls that it lacks the one algorithm "reference", plain loops.
///
/// All functions are safe to call from several threads at once, and so are kernels with a workspace
/// each.
std::unique_ptr<HostKernels> make_onednn_kernels(int cores);

/// The CPU this process may use: id "cpu:0", its name, the cores of the affinity mask, all memory;
/// settings hold oneDNN's version, the instruction set it uses and how OpenMP threads wait.
DeviceInfo onednn_device_info();

}  // namespace cohort
