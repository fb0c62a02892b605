#pragma once

#include <string>

#include "base/result.hpp"
#include "calibrate/calibration_plugin.hpp"

namespace cohort {

/// 1 of "cuda:1". Errors: kUsage for what is no GPU.
Result<int> gpu_index(const std::string& device);

/// Errors: kDeviceMissing where driver or plugin are not here.
Result<const CalibrationPlugin*> open_calibration_plugin();

}  // namespace cohort
