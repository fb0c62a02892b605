#include "calibrate/telemetry.hpp"

#include <array>

#include "base/cuda_libraries.hpp"
#include "tracer/microbenchmark_record.hpp"

namespace cohort::calibrate {
namespace {

// NVML's interface, as far as it is used: its header comes with the toolkit's full form only. Source: NVIDIA, "NVML API
// Reference", device queries.
using NvmlDevice = void*;
constexpr int kNvmlSuccess = 0;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kSensorOfGpu = 0;

}  // namespace

struct Telemetry::Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_of_bus)(const char* id, NvmlDevice* device) = nullptr;
  int (*clock)(NvmlDevice device, int which, unsigned* megahertz) = nullptr;
  int (*power)(NvmlDevice device, unsigned* milliwatts) = nullptr;
  int (*temperature)(NvmlDevice device, int sensor, unsigned* celsius) = nullptr;
  int (*throttle)(NvmlDevice device, unsigned long long* reasons) = nullptr;
  int (*link_generation)(NvmlDevice device, unsigned* generation) = nullptr;
  int (*link_width)(NvmlDevice device, unsigned* lanes) = nullptr;
  int (*driver)(char* text, unsigned size) = nullptr;
  NvmlDevice device = nullptr;

  Result<void> open(const std::string& pci_bus_id);
};

namespace {

template <class Function>
void find_if_there(const SharedLibrary& library, const char* name, Function*& function) {
  if (const auto found = library.function<Function>(name)) function = *found;
}

}  // namespace

Result<void> Telemetry::Nvml::open(const std::string& pci_bus_id) {
  COHORT_TRY(const SharedLibrary library, load_driver_library("libnvidia-ml.so.1"));
  COHORT_CHECK(library.find("nvmlInit_v2", init));
  COHORT_CHECK(library.find("nvmlShutdown", shutdown));
  COHORT_CHECK(library.find("nvmlDeviceGetHandleByPciBusId_v2", device_of_bus));
  // What a driver lacks of these is not read; the rest is.
  find_if_there(library, "nvmlDeviceGetClockInfo", clock);
  find_if_there(library, "nvmlDeviceGetPowerUsage", power);
  find_if_there(library, "nvmlDeviceGetTemperature", temperature);
  find_if_there(library, "nvmlDeviceGetCurrentClocksEventReasons", throttle);  // since 535; its older name next
  if (throttle == nullptr) find_if_there(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle);
  find_if_there(library, "nvmlDeviceGetCurrPcieLinkGeneration", link_generation);
  find_if_there(library, "nvmlDeviceGetCurrPcieLinkWidth", link_width);
  find_if_there(library, "nvmlSystemGetDriverVersion", driver);
  if (const int status = init(); status != kNvmlSuccess)
    return fail(ErrorCode::kDeviceMissing, "nvmlInit_v2 returned {}", status);
  if (const int status = device_of_bus(pci_bus_id.c_str(), &device); status != kNvmlSuccess)
    return fail(ErrorCode::kDeviceMissing, "nvmlDeviceGetHandleByPciBusId_v2({}) returned {}", pci_bus_id, status);
  return {};
}

Telemetry::Telemetry(const std::string& pci_bus_id) : nvml_(std::make_unique<Nvml>()) {
  if (const auto opened = nvml_->open(pci_bus_id); !opened) {
    missing_ = opened.error().message;
    nvml_.reset();
  }
}

Telemetry::~Telemetry() {
  if (nvml_) nvml_->shutdown();
}

Readings Telemetry::read() const {
  Readings readings;
  if (!nvml_) return readings;
  const auto add = [&](std::string_view name, auto* function, auto value, auto... arguments) {
    if (function == nullptr || function(nvml_->device, arguments..., &value) != kNvmlSuccess) return;
    readings.push_back({std::string(name), static_cast<double>(value)});
  };
  add("SM clock MHz", nvml_->clock, 0U, kClockSm);
  add("memory clock MHz", nvml_->clock, 0U, kClockMemory);
  add("power mW", nvml_->power, 0U);
  add("temperature C", nvml_->temperature, 0U, kSensorOfGpu);
  add(kThrottleReasonsCounter, nvml_->throttle, 0ULL);
  add("PCIe generation", nvml_->link_generation, 0U);
  add("PCIe lanes", nvml_->link_width, 0U);
  return readings;
}

std::string Telemetry::driver_version() const {
  std::array<char, 96> text{};
  if (!nvml_ || nvml_->driver == nullptr || nvml_->driver(text.data(), text.size()) != kNvmlSuccess) return "unknown";
  return text.data();
}

}  // namespace cohort::calibrate
