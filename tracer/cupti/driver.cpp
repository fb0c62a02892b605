#include "tracer/cupti/driver.hpp"

#include <cuda.h>
#include <dlfcn.h>

namespace cohort::cupti {
namespace {

/// The driver's functions by the names under which it exports them, which its header hides behind macros.
struct Driver {
  CUresult (*device_count)(int*) = nullptr;
  CUresult (*device)(CUdevice*, int) = nullptr;
  CUresult (*primary_state)(CUdevice, unsigned*, int*) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release)(CUdevice) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;
  CUresult (*synchronize)() = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// False where the process has no driver. The handle stays open: the driver outlives us anyway.
bool find_driver(Driver& driver) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library != nullptr && find(library, "cuDeviceGetCount", driver.device_count) &&
         find(library, "cuDeviceGet", driver.device) &&
         find(library, "cuDevicePrimaryCtxGetState", driver.primary_state) &&
         find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
         find(library, "cuDevicePrimaryCtxRelease_v2", driver.release) &&
         find(library, "cuCtxPushCurrent_v2", driver.push) && find(library, "cuCtxPopCurrent_v2", driver.pop) &&
         find(library, "cuCtxSynchronize", driver.synchronize);
}

CUresult synchronize_primary(const Driver& driver, CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  CUresult status = driver.primary_state(device, &flags, &active);
  if (status != CUDA_SUCCESS || active == 0) return status;
  CUcontext context = nullptr;
  status = driver.retain(&context, device);
  if (status != CUDA_SUCCESS) return status;
  status = driver.push(context);
  if (status == CUDA_SUCCESS) {
    status = driver.synchronize();
    driver.pop(&context);
  }
  driver.release(device);
  return status;
}

}  // namespace

std::vector<int> synchronize_contexts() {
  Driver driver;
  if (!find_driver(driver)) return {};
  std::vector<int> failed;
  const CUresult own = driver.synchronize();
  if (own != CUDA_SUCCESS && own != CUDA_ERROR_INVALID_CONTEXT) failed.push_back(own);  // none is current: no failure
  int count = 0;
  if (driver.device_count(&count) != CUDA_SUCCESS) return failed;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if (driver.device(&device, i) != CUDA_SUCCESS) continue;
    const CUresult status = synchronize_primary(driver, device);
    if (status != CUDA_SUCCESS) failed.push_back(status);
  }
  return failed;
}

}  // namespace cohort::cupti
