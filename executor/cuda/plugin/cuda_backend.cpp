#include "executor/cuda/plugin/cuda_backend.hpp"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdlib>

#include "executor/clock.hpp"
#include "executor/cuda/plugin/library_calls.hpp"
#include "executor/cuda/plugin/runtime_api.hpp"
#include "executor/cuda/session.hpp"
#include "executor/device_error.hpp"
#include "executor/host/core_binding.hpp"

namespace cohort::cuda {
namespace {

constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";
/// nvcc 13 makes no code for older ones.
constexpr int kOldestCapability = 75;

/// The driver reads it when it starts: with the default of 8 queues more streams wait for each other falsely.
void ask_for_connections() { (void)::setenv(kConnections, "32", 0); }

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int attribute(cudaDeviceAttr what, int index) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, what, index), "cudaDeviceGetAttribute");
  return value;
}

/// tf32 and bfloat16 came with compute capability 8.0.
DeviceAbilities abilities_of(int device) {
  DeviceAbilities abilities{{Precision::kFloat32, Precision::kFloat16}, 0};
  abilities.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  if (attribute(cudaDevAttrComputeCapabilityMajor, device) >= 8)
    abilities.precisions = {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16, Precision::kFloat16};
  return abilities;
}

/// "13.0" of 13000.
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

Result<int> count_devices() {
  ask_for_connections();
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess) return count;
  if (status == cudaErrorNoDevice) return 0;
  if (status == cudaErrorInsufficientDriver) {
    const int version = driver_version();
    return fail(ErrorCode::kDeviceMissing,
                "cudaGetDeviceCount: the NVIDIA driver {}, CUDA {} is needed; install driver 580 or later",
                version == 0 ? "does not work" : fmt::format("is for CUDA {}", cuda_version(version)),
                cuda_version(CUDART_VERSION));
  }
  return fail(ErrorCode::kDeviceMissing, "cudaGetDeviceCount: {} ({})", cudaGetErrorName(status),
              cudaGetErrorString(status));
}

DeviceInfo describe(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", index);
  info.kind = "cuda";
  info.name = properties.name;
  info.cores = 1;  // an op has the whole device; streams share it
  info.memory = Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)};
  const int capability = properties.major * 10 + properties.minor;
  if (capability < kOldestCapability) {
    info.available = false;
    info.reason = fmt::format("compute capability {}.{} is older than 7.5, the oldest that CUDA {} makes code for",
                              properties.major, properties.minor, cuda_version(CUDART_VERSION));
  }
  info.settings["compute_capability"] = fmt::format("{}.{}", properties.major, properties.minor);
  info.settings["multiprocessors"] = std::to_string(properties.multiProcessorCount);
  // What occupancy follows from, by the keys that traces have: a tracer that joins a running process is not told.
  info.settings["computeMajor"] = std::to_string(properties.major);
  info.settings["computeMinor"] = std::to_string(properties.minor);
  info.settings["maxThreadsPerMultiprocessor"] = std::to_string(properties.maxThreadsPerMultiProcessor);
  info.settings["regsPerMultiprocessor"] = std::to_string(properties.regsPerMultiprocessor);
  info.settings["sharedMemPerMultiprocessor"] = std::to_string(properties.sharedMemPerMultiprocessor);
  info.settings[std::string(kLastCacheSetting)] = std::to_string(properties.l2CacheSize);
  info.settings["sm_clock_khz"] = std::to_string(attribute(cudaDevAttrClockRate, index));
  info.settings["memory_clock_khz"] = std::to_string(attribute(cudaDevAttrMemoryClockRate, index));
  info.settings["driver"] = cuda_version(driver_version());
  info.settings["runtime"] = cuda_version(CUDART_VERSION);
  info.settings["cudnn"] = std::to_string(cudnnGetVersion());
  info.settings["cublas"] = std::to_string(cublasLtGetVersion());
  info.settings[std::string(kHostCoresSetting)] = std::to_string(usable_cores().size());
  info.settings[std::string(kConnectionsSetting)] = environment(kConnections);
  return info;
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index)
      : info_(describe(index)),
        api_(index),
        calls_(make_library_calls(api_, abilities_of(index), [this] { api_.use(); })) {}

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const OpCatalog& catalog() const override { return *calls_; }

  Result<std::unique_ptr<Session>> load(const Program& program, std::span<const Weights* const> weights) override {
    try {
      api_.use();
    } catch (const DeviceError& error) {
      return fail(ErrorCode::kDeviceMissing, "{}: {}", info_.id, error.what());
    }
    return make_session(program, weights, api_, *calls_, steady_now);
  }

 private:
  DeviceInfo info_;
  RuntimeApi api_;
  std::unique_ptr<CallFactory> calls_;  // after the context of the device has been started
};

Result<void> check_index(int index) {
  COHORT_TRY(const int count, count_devices());
  if (index >= 0 && index < count) return {};
  return fail(ErrorCode::kDeviceMissing, "cuda:{}: the driver shows {} GPUs", index, count);
}

}  // namespace

Result<std::vector<DeviceInfo>> list_devices() {
  COHORT_TRY(const int count, count_devices());
  std::vector<DeviceInfo> devices;
  try {
    for (int i = 0; i < count; ++i) devices.push_back(describe(i));
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "{}", error.what());
  }
  return devices;
}

Result<std::unique_ptr<Backend>> open_device(int index) {
  COHORT_CHECK(check_index(index));
  try {
    auto backend = std::make_unique<CudaBackend>(index);
    if (backend->info().available) return backend;
    return fail(ErrorCode::kDeviceMissing, "cuda:{}: {}", index, backend->info().reason);
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "cuda:{}: {}", index, error.what());
  }
}

}  // namespace cohort::cuda
