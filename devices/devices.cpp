#include "devices/devices.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/cuda_libraries.hpp"
#include "executor/cuda_plugin.hpp"
#include "executor/host/core_binding.hpp"
#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tracer/cupti_plugin.hpp"
#ifdef COHORT_WITH_ONEDNN
#include "executor/onednn/onednn_kernels.hpp"
#endif

namespace cohort {
namespace {

DeviceInfo missing(std::string id, std::string kind, std::string name, std::string reason) {
  DeviceInfo device;
  device.id = std::move(id);
  device.kind = std::move(kind);
  device.name = std::move(name);
  device.cores = 0;
  device.available = false;
  device.reason = std::move(reason);
  return device;
}

DeviceInfo cpu_device() {
#ifdef COHORT_WITH_ONEDNN
  return onednn_device_info();
#else
  return missing("cpu:0", "cpu", "CPU with oneDNN",
                 "this build has no oneDNN; install libdnnl-dev and configure with -DCOHORT_ONEDNN=ON");
#endif
}

std::unique_ptr<HostKernels> kernels_of(const DeviceInfo& device) {
#ifdef COHORT_WITH_ONEDNN
  if (device.kind == "cpu") return make_onednn_kernels(device.cores);
#endif
  return make_reference_kernels(device.cores);
}

/// Needs no driver for what needs no device.
Result<const CudaPlugin*> cuda_plugin() {
  COHORT_TRY(const SharedLibrary library, open_cuda_plugin("cuda", kCudaPluginLibraries));
  COHORT_TRY(CudaPluginEntry* const entry, library.function<CudaPluginEntry>(kCudaPluginEntry));
  // With it cuDNN compiles some engines itself; where it is not found, those are not listed.
  (void)load_cuda_library("libnvrtc.so.13");
  return entry();
}

/// Of the library that traces need.
Result<std::string> cupti_version() {
  COHORT_TRY(const SharedLibrary module, open_plugin("cupti"));
  COHORT_TRY(const auto entry, module.function<CuptiPluginEntry>(kCuptiPluginEntry));
  return entry()->version();
}

/// All that is missing, not only what is missed first.
std::string what_cuda_lacks(const Error& first) {
  std::string reason = first.message;
  const auto add = [&](const Error& error) {
    if (reason.find(error.message) == std::string::npos) reason += "; " + error.message;
  };
  if (const auto driver = probe_cuda_driver(); !driver) add(driver.error());
  for (const std::string_view soname : kCudaPluginLibraries) {
    if (const auto library = load_cuda_library(soname); !library) add(library.error());
  }
  if (const auto cupti = cupti_version(); !cupti)
    add({ErrorCode::kDeviceMissing, fmt::format("kernels cannot be traced: {}", cupti.error().message)});
  return reason;
}

std::vector<DeviceInfo> cuda_devices() {
  const auto list = [&]() -> Result<std::vector<DeviceInfo>> {
    COHORT_CHECK(probe_cuda_driver());
    COHORT_TRY(const CudaPlugin* const plugin, cuda_plugin());
    COHORT_TRY(auto devices, plugin->devices());
    if (devices.empty()) return fail(ErrorCode::kDeviceMissing, "the NVIDIA driver is here, but shows no GPU");
    return devices;
  }();
  if (list) {
    std::vector<DeviceInfo> devices = *list;
    const auto cupti = cupti_version();
    for (DeviceInfo& device : devices)
      device.settings["cupti"] = cupti ? *cupti : fmt::format("kernels cannot be traced: {}", cupti.error().message);
    return devices;
  }
  return {missing("cuda:0", "cuda", "NVIDIA GPU", what_cuda_lacks(list.error()))};
}

/// 1 of "cuda:1", 0 of "cuda"; empty for other devices.
std::optional<int> cuda_index(std::string_view device) {
  if (device == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!device.starts_with(kPrefix)) return std::nullopt;
  device.remove_prefix(kPrefix.size());
  int index = 0;
  const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), index);
  if (error != std::errc() || end != device.data() + device.size()) return std::nullopt;
  return index;
}

/// GPUs are looked for only where they are asked for: that loads libraries and starts the driver.
std::vector<DeviceInfo> host_devices() {
  return {cpu_device(), reference_device_info(static_cast<int>(usable_cores().size()))};
}

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices = host_devices();
  for (DeviceInfo& device : cuda_devices()) devices.push_back(std::move(device));
  return devices;
}

std::string_view default_device() {
#ifdef COHORT_WITH_ONEDNN
  return "cpu:0";
#else
  return "reference:0";
#endif
}

Result<std::unique_ptr<Backend>> open_device(std::string_view device) {
  if (const std::optional<int> index = cuda_index(device)) {
    const auto plugin = probe_cuda_driver().and_then(cuda_plugin);
    if (!plugin) return fail(ErrorCode::kDeviceMissing, "device {}: {}", device, plugin.error().message);
    return (*plugin)->open(*index);
  }
  std::string known;
  for (DeviceInfo& info : host_devices()) {
    known += info.id + ", ";
    if (info.id != device && info.kind != device) continue;
    if (!info.available) return fail(ErrorCode::kDeviceMissing, "device {}: {}", info.id, info.reason);
    auto kernels = kernels_of(info);
    return std::make_unique<HostBackend>(std::move(kernels), std::move(info));
  }
  return fail(ErrorCode::kUsage, "there is no device {}; known: {}cuda:0", device, known);
}

Result<std::unique_ptr<OpCatalog>> described_device(const std::filesystem::path& description) {
  COHORT_TRY(const CudaPlugin* const plugin, cuda_plugin());
  return plugin->catalog(description);
}

}  // namespace cohort
