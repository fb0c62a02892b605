#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "executor/backend.hpp"

namespace cohort {

/// Every device Cohort knows of, those not available too, with the reason and what to do about it.
std::vector<DeviceInfo> list_devices();

/// The device that commands use when none is named.
std::string_view default_device();

/// Opens a device by id ("cpu:0") or kind ("cpu").
/// Errors: kUsage for one not known (the message lists those known); kDeviceMissing with the reason
/// for one that is not available.
Result<std::unique_ptr<Backend>> open_device(std::string_view device);

/// What a GPU would run that is not here, from its description (cohort calibrate --properties, FILE.cudnn.json). Needs
/// NVIDIA's libraries, no driver. Errors: kDeviceMissing naming the library; kInvalidInput naming the file.
Result<std::unique_ptr<OpCatalog>> described_device(const std::filesystem::path& description);

}  // namespace cohort
