#include "cli/devices.hpp"

#include <sched.h>

#include <algorithm>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#ifdef COHORT_WITH_ONEDNN
#include "executor/onednn/onednn_kernels.hpp"
#endif

namespace cohort {
namespace {

/// Cores this process may use.
int usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

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

}  // namespace

std::vector<DeviceInfo> list_devices() {
  return {cpu_device(), reference_device_info(usable_cores()),
          missing("cuda:0", "cuda", "NVIDIA GPU", "this build has no CUDA backend")};
}

std::string_view default_device() {
#ifdef COHORT_WITH_ONEDNN
  return "cpu:0";
#else
  return "reference:0";
#endif
}

Result<std::unique_ptr<Backend>> open_device(std::string_view device) {
  std::string known;
  for (DeviceInfo& info : list_devices()) {
    if (info.id != device && info.kind != device) {
      known += known.empty() ? info.id : ", " + info.id;
      continue;
    }
    if (!info.available) return fail(ErrorCode::kDeviceMissing, "device {}: {}", info.id, info.reason);
    auto kernels = kernels_of(info);
    return std::make_unique<HostBackend>(std::move(kernels), std::move(info));
  }
  return fail(ErrorCode::kUsage, "there is no device {}; known: {}", device, known);
}

}  // namespace cohort
