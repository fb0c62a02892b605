#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/plugin.hpp"
#include "base/result.hpp"

namespace cohort {

/// A library that comes with NVIDIA's driver ("libcuda.so.1", "libnvidia-ml.so.1"): where the loader looks, else where
/// containers have it. Errors: kDeviceMissing with the loader's reason.
Result<SharedLibrary> load_driver_library(std::string_view soname);

/// Whether NVIDIA's driver is installed, without starting it.
/// Errors: kDeviceMissing saying that libcuda.so.1 is missing and how to get it.
Result<void> probe_cuda_driver();

/// Folders in which CUDA's libraries are looked for beside the system's own: $COHORT_CUDA_LIBRARIES
/// (separated by colons), $CUDA_PATH, $CUDA_HOME, /usr/local/cuda*, and nvidia/*/lib in Python's package
/// folders ($VIRTUAL_ENV, each python3 on $PATH, ~/.local, the system's). Only those that exist, each once, in this
/// order.
std::vector<std::filesystem::path> cuda_library_folders();

/// Loads one of CUDA's libraries ("libcudnn.so.9") for plugins that need it: from $COHORT_CUDA_LIBRARIES, else what is
/// loaded already, then the loader's own search, then the rest of cuda_library_folders(). What is asked of a library
/// beyond the major version in its name (cuDNN: 9.8, from which on it describes devices) is asked of what was found.
/// Errors: kDeviceMissing naming the library and where it was looked for, or its file, its version and the one needed.
Result<SharedLibrary> load_cuda_library(std::string_view soname);

/// Loads `sonames` in order (what others need comes first), then opens the plugin. What it does on a device needs
/// probe_cuda_driver().
Result<SharedLibrary> open_cuda_plugin(std::string_view name, std::span<const std::string_view> sonames);

}  // namespace cohort
