#include "calibrate/properties.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/cuda_libraries.hpp"
#include "calibrate/device.hpp"
#include "calibrate/telemetry.hpp"
#ifdef COHORT_WITH_CUDNN
#include <cudnn_graph.h>
#endif

namespace cohort::calibrate {
namespace {

std::string bus_id(int device) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device), "cudaDeviceGetPCIBusId");
  return text.data();
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace

std::string cuda_properties(int device) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  const auto attribute = [&](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  const nlohmann::ordered_json json = {
      {"name", p.name},
      {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
      {"sms", p.multiProcessorCount},
      {"clock_khz", attribute(cudaDevAttrClockRate)},
      {"memory_clock_khz", attribute(cudaDevAttrMemoryClockRate)},
      {"memory_bus_bits", p.memoryBusWidth},
      {"memory_bytes", p.totalGlobalMem},
      {"l2_bytes", p.l2CacheSize},
      {"persisting_l2_most_bytes", p.persistingL2CacheMaxSize},
      {"warp_size", p.warpSize},
      {"threads_per_sm", p.maxThreadsPerMultiProcessor},
      {"blocks_per_sm", p.maxBlocksPerMultiProcessor},
      {"registers_per_sm", p.regsPerMultiprocessor},
      {"registers_per_block", p.regsPerBlock},
      {"shared_bytes_per_sm", p.sharedMemPerMultiprocessor},
      {"shared_bytes_per_block", p.sharedMemPerBlock},
      {"shared_bytes_per_block_opt_in", p.sharedMemPerBlockOptin},
      {"shared_bytes_reserved_per_block", p.reservedSharedMemPerBlock},
      {"threads_per_block", p.maxThreadsPerBlock},
      {"copy_engines", p.asyncEngineCount},
      {"concurrent_kernels", p.concurrentKernels},
      {"ecc", p.ECCEnabled},
      {"integrated", p.integrated},
      {"cluster_launch", p.clusterLaunch},
      {"stream_priorities", p.streamPrioritiesSupported},
      {"pci_bus_id", bus_id(device)},
  };
  return json.dump(2) + "\n";
}

DeviceInfo device_info(int device) {
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, device), "cudaGetDeviceProperties");
  int driver = 0;
  int runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  DeviceInfo info;
  info.id = fmt::format("cuda:{}", device);
  info.kind = "cuda";
  info.name = p.name;
  info.cores = p.multiProcessorCount;
  info.memory = Bytes{static_cast<std::int64_t>(p.totalGlobalMem)};
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  info.settings = {
      {"driver", Telemetry(bus_id(device)).driver_version()},
      {"driver's CUDA", version_text(driver)},
      {"CUDA runtime", version_text(runtime)},
      {"compute capability", fmt::format("{}.{}", p.major, p.minor)},
      {std::string(kConnectionsSetting), connections != nullptr ? connections : "default"},
      {std::string(kLastCacheSetting), std::to_string(p.l2CacheSize)},
  };
  return info;
}

#ifdef COHORT_WITH_CUDNN
namespace {

/// The functions of cuDNN's graph interface that are needed here.
struct Cudnn {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;

  [[nodiscard]] Result<void> check(cudnnStatus_t status, const char* call) const {
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return fail(ErrorCode::kDeviceMissing, "{} returned {} ({})", call, error_string(status), static_cast<int>(status));
  }
};

Result<Cudnn> load_cudnn() {
  COHORT_TRY(const SharedLibrary library, load_cuda_library("libcudnn.so.9"));
  Cudnn cudnn;
  COHORT_CHECK(library.find("cudnnGetVersion", cudnn.version));
  if (cudnn.version() < 90800)
    return fail(ErrorCode::kDeviceMissing, "cuDNN {} does not describe devices; 9.8 or later does", cudnn.version());
  COHORT_CHECK(library.find("cudnnGetErrorString", cudnn.error_string));
  COHORT_CHECK(library.find("cudnnBackendCreateDescriptor", cudnn.create));
  COHORT_CHECK(library.find("cudnnBackendDestroyDescriptor", cudnn.destroy));
  COHORT_CHECK(library.find("cudnnBackendSetAttribute", cudnn.set));
  COHORT_CHECK(library.find("cudnnBackendFinalize", cudnn.finalize));
  COHORT_CHECK(library.find("cudnnBackendGetAttribute", cudnn.get));
  return cudnn;
}

Result<std::string> serialized(const Cudnn& cudnn, cudnnBackendDescriptor_t descriptor, int device) {
  const auto id = static_cast<std::int32_t>(device);
  COHORT_CHECK(cudnn.check(cudnn.set(descriptor, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &id),
                           "cudnnBackendSetAttribute(DEVICEPROP_DEVICE_ID)"));
  COHORT_CHECK(cudnn.check(cudnn.finalize(descriptor), "cudnnBackendFinalize(DEVICEPROP)"));
  std::int64_t size = 0;
  COHORT_CHECK(
      cudnn.check(cudnn.get(descriptor, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0, &size, nullptr),
                  "cudnnBackendGetAttribute(DEVICEPROP_JSON_REPRESENTATION)"));
  std::string json(static_cast<std::size_t>(size), '\0');
  COHORT_CHECK(cudnn.check(
      cudnn.get(descriptor, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, size, &size, json.data()),
      "cudnnBackendGetAttribute(DEVICEPROP_JSON_REPRESENTATION)"));
  json.resize(static_cast<std::size_t>(size));
  while (!json.empty() && json.back() == '\0') json.pop_back();
  return json;
}

}  // namespace

Result<std::string> cudnn_properties(int device) {
  COHORT_TRY(const Cudnn cudnn, load_cudnn());
  cudnnBackendDescriptor_t descriptor = nullptr;
  COHORT_CHECK(cudnn.check(cudnn.create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &descriptor),
                           "cudnnBackendCreateDescriptor(DEVICEPROP)"));
  auto json = serialized(cudnn, descriptor, device);
  cudnn.destroy(descriptor);
  return json;
}
#else
Result<std::string> cudnn_properties(int /*device*/) {
  return fail(ErrorCode::kDeviceMissing, "this build knows no cuDNN");
}
#endif

}  // namespace cohort::calibrate
