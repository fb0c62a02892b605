#include <cuda.h>

#include <cstdlib>

#include "tests/cupti/call_log.hpp"

// A libcuda that stands in for NVIDIA's where there is none: what the tracer calls when a program ends. Loaded by its
// file it is found under the driver's name. $FAKE_CUDA_DEVICES says how many devices have a context; the calling thread
// has none.

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
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  cohort::log_call("cuCtxPushCurrent", reinterpret_cast<std::uintptr_t>(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* /*context*/) { return CUDA_SUCCESS; }
CUresult cuCtxSynchronize() {
  cohort::log_call("cuCtxSynchronize");
  return CUDA_SUCCESS;
}

}  // extern "C"
