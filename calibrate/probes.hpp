#pragma once

#include <memory>

#include "base/result.hpp"
#include "executor/profile/probes.hpp"

namespace cohort::calibrate {

/// On the device, which must be open. Throws DeviceError.
std::unique_ptr<ProbeKernels> make_probes(int device);

}  // namespace cohort::calibrate
