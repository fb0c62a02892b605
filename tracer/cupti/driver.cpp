#include "tracer/cupti/driver.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace cohort::cupti {
namespace {

using Clock = std::chrono::steady_clock;

/// For threads that see the limit themselves to leave the driver.
constexpr std::chrono::milliseconds kLeaving{200};

/// The driver's functions by the names under which it exports them, which its header hides behind macros.
struct Driver {
  CUresult (*device_count)(int*) = nullptr;
  CUresult (*device)(CUdevice*, int) = nullptr;
  CUresult (*primary_state)(CUdevice, unsigned*, int*) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*release)(CUdevice) = nullptr;
  CUresult (*current)(CUcontext*) = nullptr;
  CUresult (*push)(CUcontext) = nullptr;
  CUresult (*pop)(CUcontext*) = nullptr;
  CUresult (*create_event)(CUevent*, unsigned) = nullptr;
  CUresult (*record_context)(CUcontext, CUevent) = nullptr;  ///< since CUDA 12.5
  CUresult (*query_event)(CUevent) = nullptr;
  CUresult (*destroy_event)(CUevent) = nullptr;
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
  if (library == nullptr) return false;
  find(library, "cuCtxRecordEvent", driver.record_context);
  return find(library, "cuDeviceGetCount", driver.device_count) && find(library, "cuDeviceGet", driver.device) &&
         find(library, "cuDevicePrimaryCtxGetState", driver.primary_state) &&
         find(library, "cuDevicePrimaryCtxRetain", driver.retain) &&
         find(library, "cuDevicePrimaryCtxRelease_v2", driver.release) &&
         find(library, "cuCtxGetCurrent", driver.current) && find(library, "cuCtxPushCurrent_v2", driver.push) &&
         find(library, "cuCtxPopCurrent_v2", driver.pop) && find(library, "cuEventCreate", driver.create_event) &&
         find(library, "cuEventQuery", driver.query_event) &&
         find(library, "cuEventDestroy_v2", driver.destroy_event) &&
         find(library, "cuCtxSynchronize", driver.synchronize);
}

/// What the threads that ask share with the one that waits for them, which may leave first.
struct Waits {
  Driver driver;
  Clock::time_point deadline;
  std::mutex mutex;
  std::condition_variable one_ended;
  std::size_t running = 0;       ///< this and what follows under the mutex
  std::set<CUcontext> contexts;  ///< that have been asked for
  ContextsAtEnd result;

  bool is_first(CUcontext context) {
    const std::lock_guard lock(mutex);
    return contexts.insert(context).second;
  }
};

/// Asks again and again whether the context, which is current, has no more work: a thread that waited inside the driver
/// could not be called back when the driver is torn down with the process. True also where that cannot be asked.
bool has_no_more_work(const Waits& waits, CUcontext context) {
  constexpr std::chrono::milliseconds kLongestPause{50};
  const Driver& driver = waits.driver;
  CUevent event = nullptr;
  if (driver.record_context == nullptr || driver.create_event(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
    return true;
  bool ended = driver.record_context(context, event) != CUDA_SUCCESS;
  Clock::duration pause = std::chrono::microseconds(50);
  while (!ended) {
    ended = driver.query_event(event) != CUDA_ERROR_NOT_READY;
    const Clock::duration left = waits.deadline - Clock::now();
    if (ended || left <= Clock::duration::zero()) break;
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min<Clock::duration>(2 * pause, kLongestPause);
  }
  driver.destroy_event(event);
  return ended;
}

/// CUDA_ERROR_NOT_READY where its work had not ended in time.
CUresult wait_for(Waits& waits, CUcontext context) {
  if (!waits.is_first(context)) return CUDA_SUCCESS;
  CUresult status = waits.driver.push(context);
  if (status != CUDA_SUCCESS) return status;
  status = has_no_more_work(waits, context) ? waits.driver.synchronize() : CUDA_ERROR_NOT_READY;
  waits.driver.pop(&context);
  return status;
}

CUresult wait_for_primary(Waits& waits, int index) {
  const Driver& driver = waits.driver;
  CUdevice device = 0;
  unsigned flags = 0;
  int active = 0;
  CUresult status = driver.device(&device, index);
  if (status != CUDA_SUCCESS) return CUDA_SUCCESS;  // no such device, no work
  status = driver.primary_state(device, &flags, &active);
  if (status != CUDA_SUCCESS || active == 0) return status;
  CUcontext context = nullptr;
  status = driver.retain(&context, device);
  if (status != CUDA_SUCCESS) return status;
  status = wait_for(waits, context);
  driver.release(device);
  return status;
}

/// Runs `wait`, which returns a status, on a thread of its own.
template <class Wait>
void start(const std::shared_ptr<Waits>& waits, Wait wait) {
  {
    const std::lock_guard lock(waits->mutex);
    ++waits->running;
  }
  std::thread([waits, wait] {
    {
      const std::lock_guard lock(waits->mutex);
      waits->result.threads.push_back(static_cast<std::uint32_t>(::gettid()));
    }
    const CUresult status = wait(*waits);
    {
      const std::lock_guard lock(waits->mutex);
      if (status == CUDA_ERROR_NOT_READY) {
        ++waits->result.unfinished;
      } else if (status != CUDA_SUCCESS) {
        waits->result.failed.push_back(status);
      }
      --waits->running;
    }
    waits->one_ended.notify_all();
  }).detach();
}

}  // namespace

ContextsAtEnd synchronize_contexts(std::chrono::milliseconds limit) {
  const auto waits = std::make_shared<Waits>();
  if (!find_driver(waits->driver)) return {};
  waits->deadline = Clock::now() + limit;
  CUcontext current = nullptr;
  if (waits->driver.current(&current) == CUDA_SUCCESS && current != nullptr)
    start(waits, [current](Waits& all) { return wait_for(all, current); });
  int count = 0;
  if (waits->driver.device_count(&count) != CUDA_SUCCESS) count = 0;
  for (int i = 0; i < count; ++i) start(waits, [i](Waits& all) { return wait_for_primary(all, i); });

  std::unique_lock lock(waits->mutex);
  waits->one_ended.wait_until(lock, waits->deadline + kLeaving, [&] { return waits->running == 0; });
  ContextsAtEnd result = waits->result;
  result.unfinished += waits->running;
  return result;
}

}  // namespace cohort::cupti
