#pragma once

#include <map>
#include <string>

#include "base/device.hpp"
#include "base/result.hpp"

namespace cohort::calibrate {

/// JSON of what the runtime says of the device: cudaDeviceProp and attributes.
std::string cuda_properties(int device);

/// cuDNN's own serialisation of the device, with which it lists engines on machines without it.
/// Errors: kDeviceMissing without cuDNN 9.8 or later; naming call and status where one fails.
Result<std::string> cudnn_properties(int device);

/// The device as traces name it: "cuda:0", its name, memory, library versions, environment.
DeviceInfo device_info(int device);

}  // namespace cohort::calibrate
