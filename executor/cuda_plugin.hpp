#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "base/device.hpp"
#include "base/result.hpp"
#include "executor/backend.hpp"

namespace cohort {

/// The border between a program and the plugin "cuda" (executor/cuda): the plugin has one C function,
/// `cohort_cuda_plugin`, that returns this table. Free of CUDA's headers.
///
///     extern "C" COHORT_PLUGIN_EXPORT const cohort::CudaPlugin* cohort_cuda_plugin();
///
/// The program opens it with open_cuda_plugin("cuda", kCudaPluginLibraries), base/cuda_libraries.hpp.
struct CudaPlugin {
  /// Every GPU the driver shows, also one that cannot be used, with the reason.
  /// Errors: kDeviceMissing naming call and status.
  Result<std::vector<DeviceInfo>> (*devices)();
  /// Opens "cuda:<index>".
  Result<std::unique_ptr<Backend>> (*open)(int index);
  /// What the device would run whose properties are in a file: JSON as cuDNN describes a device
  /// (CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR). Needs no driver.
  /// Errors: kInvalidInput naming the file.
  Result<std::unique_ptr<OpCatalog>> (*catalog)(const std::filesystem::path& file);
};

using CudaPluginEntry = const CudaPlugin*();
inline constexpr const char* kCudaPluginEntry = "cohort_cuda_plugin";

/// Loaded before the plugin, in this order; versions are those the plugin was built against.
inline constexpr std::array<std::string_view, 3> kCudaPluginLibraries = {"libcublasLt.so.13", "libcublas.so.13",
                                                                         "libcudnn.so.9"};

}  // namespace cohort
