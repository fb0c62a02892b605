#pragma once

#include <memory>

#include "base/device.hpp"
#include "executor/host/kernel.hpp"

namespace cohort {

/// Every op as plain loops over strided memory, sums in double: what other devices are compared
/// with. One algorithm, "reference", without workspace; each op on the calling thread whatever
/// `threads` says. `cores` is what cores() answers.
std::unique_ptr<HostKernels> make_reference_kernels(int cores = 1);

/// The device these kernels are: id "reference:0".
DeviceInfo reference_device_info(int cores = 1);

}  // namespace cohort
