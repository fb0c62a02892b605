#pragma once

#include <memory>
#include <string>
#include <vector>

#include "executor/backend.hpp"

namespace cohort::cuda {

/// Every GPU the driver shows. Errors: kDeviceMissing naming call, status and what would help.
Result<std::vector<DeviceInfo>> list_devices();

/// Opens a GPU with its libraries. Errors: kDeviceMissing with the reason.
Result<std::unique_ptr<Backend>> open_device(int index);

}  // namespace cohort::cuda
