#include <cuda_runtime_api.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "base/cuda_libraries.hpp"
#include "calibrate/benchmarks.hpp"
#include "calibrate/calibration_plugin.hpp"
#include "calibrate/probes.hpp"
#include "calibrate/properties.hpp"
#include "calibrate/telemetry.hpp"
#include "executor/device_error.hpp"

namespace cohort::calibrate {
namespace {

struct Block {
  const char* name;
  void (*run)(const Bench& bench);
};

/// In order of what a simulation needs most.
constexpr std::array<Block, 15> kBlocks = {{
    {"empty kernels", &empty_kernels},
    {"launch latency", &launch_latency},
    {"empty graphs", &empty_graphs},
    {"spins", &spins},
    {"small block behind whole SMs", &small_behind_whole},
    {"dispatch logs", &dispatch_logs},
    {"copy sweep", &copy_sweep},
    {"chains", &chains},
    {"pairs", &pairs},
    {"transfers", &transfers},
    {"transfers beside kernels", &transfers_beside_kernels},
    {"replicas", &replicas},
    {"many small grids", &many_small_grids},
    {"launch threads", &launch_threads},
    {"graphs with crossing edges", &crossing_graphs},
}};

/// Opens the device; CUDA_DEVICE_MAX_CONNECTIONS must be set before the driver starts.
void open_device(int device) {
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  check(device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice,
        fmt::format("cudaSetDevice({}) with {} devices", device, count));
  check(cudaSetDevice(device), "cudaSetDevice");
  check(cudaFree(nullptr), "cudaFree");  // starts the context
}

/// An idle device's clocks are low: it is kept busy until they have risen.
void warm_up(const DeviceFacts& facts) {
  constexpr Nanoseconds kUntilRisen = std::chrono::milliseconds(500);
  const Stream stream;
  const Shape all{facts.sms * 2, 256, 0};
  check(launch_spin(all, static_cast<std::uint64_t>(kUntilRisen.count()), nullptr, stream.get()), "spin kernel");
  stream.synchronize();
}

/// Every call of CUDA's below throws; here, at the one border, that becomes a Result.
template <class Function>
auto guarded(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const DeviceError& error) {
    return fail(ErrorCode::kDeviceMissing, "{}", error.what());
  }
}

Result<Trace> calibrate(const CalibrationOptions& options) {
  return guarded([&]() -> Result<Trace> {
    COHORT_CHECK(probe_cuda_driver());
    open_device(options.device);
    const DeviceFacts facts = facts_of(options.device);
    const DeviceInfo info = device_info(options.device);
    std::array<char, 32> bus{};
    check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), options.device), "cudaDeviceGetPCIBusId");
    const Telemetry telemetry(bus.data());
    check(allow_shared_memory(facts.shared_per_block), "cudaFuncSetAttribute");
    const Buffers buffers(facts);
    Recorder recorder(options, host_now, [&] { return telemetry.read(); });
    const Bench bench{recorder, facts, buffers};
    warm_up(facts);
    for (const auto& [name, run] : kBlocks) {
      if (!recorder.block(name, [&, run = run] { run(bench); })) break;
    }
    if (options.cancel != nullptr) COHORT_CHECK(options.cancel->check());
    Trace trace = recorder.take();
    trace.info.device = info;
    if (!telemetry.missing().empty()) trace.info.settings["telemetry"] = telemetry.missing();
    return trace;
  });
}

Result<DeviceDescriptions> properties(int device) {
  return guarded([&]() -> Result<DeviceDescriptions> {
    COHORT_CHECK(probe_cuda_driver());
    open_device(device);
    DeviceDescriptions descriptions{{{"cuda", cuda_properties(device)}}, {}};
    if (auto cudnn = cudnn_properties(device)) {
      descriptions.json.emplace("cudnn", std::move(*cudnn));
    } else {
      descriptions.missing.emplace("cudnn", cudnn.error().message);
    }
    return descriptions;
  });
}

Result<std::unique_ptr<ProbeKernels>> probes(int device) {
  return guarded([&]() -> Result<std::unique_ptr<ProbeKernels>> {
    COHORT_CHECK(probe_cuda_driver());
    open_device(device);
    return make_probes(device);
  });
}

constexpr CalibrationPlugin kPlugin{&calibrate, &properties, &probes};

}  // namespace
}  // namespace cohort::calibrate

extern "C" COHORT_PLUGIN_EXPORT const cohort::CalibrationPlugin* cohort_calibration_plugin() {
  return &cohort::calibrate::kPlugin;
}
