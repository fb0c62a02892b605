#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "executor/profile/probes.hpp"
#include "tracer/trace.hpp"

namespace cohort {

struct CalibrationOptions {
  int device = 0;
  int repetitions = 5;  ///< of every measurement, all kept
  /// What has not begun by then is left out and counted in TraceInfo::dropped.
  Nanoseconds budget = std::chrono::seconds(110);
  const CancelToken* cancel = nullptr;
  std::function<void(const std::string&)> progress;
};

/// Descriptions of a device by name, as JSON: "cuda" (cudaDeviceProp), "cudnn" (what cuDNN needs to list engines on
/// machines without the device).
struct DeviceDescriptions {
  std::map<std::string, std::string> json;
  std::map<std::string, std::string> missing;  ///< by name: why there is none
};

/// The border between a program and the plugin "calibration": kernels that measure what a device profile is fitted
/// from. It needs the driver; cuDNN only for its own description of the device.
struct CalibrationPlugin {
  /// A trace of kind kProfile: microbenchmark records (tracer/microbenchmark_record.hpp), each repetition one slice;
  /// blocks of the dispatch logs (category "block"); launches from several threads and graphs with crossing edges
  /// (category "calibration"); counters of clocks, power, temperature and throttle reasons around each block.
  /// Errors: kDeviceMissing; kInterrupted; a failing call with its name and status.
  Result<Trace> (*calibrate)(const CalibrationOptions& options);
  /// What there is to be said of the device; cuDNN's part needs cuDNN 9.8 or later. Errors: kDeviceMissing.
  Result<DeviceDescriptions> (*properties)(int device);
  /// Probes that ops of models are held against. Errors: kDeviceMissing.
  Result<std::unique_ptr<ProbeKernels>> (*probes)(int device);
};

using CalibrationPluginEntry = const CalibrationPlugin*();
inline constexpr const char* kCalibrationPluginEntry = "cohort_calibration_plugin";

}  // namespace cohort
