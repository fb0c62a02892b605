#include "calibrate/telemetry.hpp"

#include <array>

#include "base/plugin.hpp"

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
Result<void> find(const SharedLibrary& library, const char* name, Function*& function) {
  COHORT_TRY(function, library.function<Function>(name));
  return {};
}

}  // namespace

Result<void> Telemetry::Nvml::open(const std::string& pci_bus_id) {
  COHORT_TRY(const SharedLibrary library, SharedLibrary::open("libnvidia-ml.so.1", SharedLibrary::Scope::kLocal));
  COHORT_CHECK(find(library, "nvmlInit_v2", init));
  COHORT_CHECK(find(library, "nvmlShutdown", shutdown));
  COHORT_CHECK(find(library, "nvmlDeviceGetHandleByPciBusId_v2", device_of_bus));
  COHORT_CHECK(find(library, "nvmlDeviceGetClockInfo", clock));
  COHORT_CHECK(find(library, "nvmlDeviceGetPowerUsage", power));
  COHORT_CHECK(find(library, "nvmlDeviceGetTemperature", temperature));
  COHORT_CHECK(find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", throttle));
  COHORT_CHECK(find(library, "nvmlDeviceGetCurrPcieLinkGeneration", link_generation));
  COHORT_CHECK(find(library, "nvmlDeviceGetCurrPcieLinkWidth", link_width));
  COHORT_CHECK(find(library, "nvmlSystemGetDriverVersion", driver));
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
  const auto add = [&](const char* name, int status, unsigned long long value) {
    if (status == kNvmlSuccess) readings.push_back({name, static_cast<double>(value)});
  };
  unsigned value = 0;
  int status = nvml_->clock(nvml_->device, kClockSm, &value);
  add("SM clock MHz", status, value);
  status = nvml_->clock(nvml_->device, kClockMemory, &value);
  add("memory clock MHz", status, value);
  status = nvml_->power(nvml_->device, &value);
  add("power mW", status, value);
  status = nvml_->temperature(nvml_->device, kSensorOfGpu, &value);
  add("temperature C", status, value);
  unsigned long long reasons = 0;
  status = nvml_->throttle(nvml_->device, &reasons);
  add("throttle reasons", status, reasons);
  status = nvml_->link_generation(nvml_->device, &value);
  add("PCIe generation", status, value);
  status = nvml_->link_width(nvml_->device, &value);
  add("PCIe lanes", status, value);
  return readings;
}

std::string Telemetry::driver_version() const {
  std::array<char, 96> text{};
  if (!nvml_ || nvml_->driver(text.data(), text.size()) != kNvmlSuccess) return "unknown";
  return text.data();
}

}  // namespace cohort::calibrate
