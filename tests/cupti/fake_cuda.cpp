#include <cuda.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tests/cupti/call_log.hpp"

// A libcuda that stands in for NVIDIA's where there is none: what the tracer calls when a program ends. Loaded by its
// file it is found under the driver's name. $FAKE_CUDA_DEVICES says how many devices have a context; a thread has none
// unless it pushes one. Device 0 does what $FAKE_CUDA_WORK says: nothing any more where that is not set; "ends" soon;
// runs what "never ends"; or "hangs", as the driver does then in the first call that looks at its context.

namespace {

thread_local CUcontext current = nullptr;

bool first_device(std::string_view work) {
  const char* const said = std::getenv("FAKE_CUDA_WORK");
  return current == reinterpret_cast<CUcontext>(std::uintptr_t{1}) && said != nullptr && work == said;
}
[[noreturn]] void wait_for_ever() {
  for (;;) ::pause();
}

}  // namespace

extern "C" {

CUresult cuDeviceGetCount(int* count) {
  const char* const devices = std::getenv("FAKE_CUDA_DEVICES");
  *count = devices != nullptr ? std::atoi(devices) : 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
/// The last device was never used.
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  int count = 0;
  cuDeviceGetCount(&count);
  *flags = 0;
  *active = device + 1 < count || count == 1 ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device) + 1);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice /*device*/) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  cohort::log_call("cuCtxPushCurrent", reinterpret_cast<std::uintptr_t>(context));
  current = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  *context = std::exchange(current, nullptr);
  cohort::log_call("cuCtxPopCurrent", reinterpret_cast<std::uintptr_t>(*context));
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) {
  *event = reinterpret_cast<CUevent>(current);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent /*event*/) { return CUDA_SUCCESS; }
CUresult cuCtxRecordEvent(CUcontext context, CUevent event) {
  if (first_device("hangs")) wait_for_ever();
  return reinterpret_cast<CUevent>(context) == event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
CUresult cuEventQuery(CUevent event) {
  static std::atomic<int> asked{0};
  cohort::log_call("cuEventQuery", reinterpret_cast<std::uintptr_t>(event));
  if (first_device("never ends")) return CUDA_ERROR_NOT_READY;
  return first_device("ends") && ++asked < 4 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  if (first_device("never ends")) wait_for_ever();
  cohort::log_call("cuCtxSynchronize", reinterpret_cast<std::uintptr_t>(current));
  return CUDA_SUCCESS;
}

}  // extern "C"
