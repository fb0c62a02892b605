#pragma once

#include <memory>
#include <string>

#include "calibrate/recorder.hpp"

namespace cohort::calibrate {

/// The device's clocks, power, temperature and reasons to throttle, by NVML, which comes with the driver.
class Telemetry {
 public:
  /// `pci_bus_id` as cudaDeviceGetPCIBusId gives it. Without NVML readings are empty, and missing() says why.
  explicit Telemetry(const std::string& pci_bus_id);
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;
  ~Telemetry();

  [[nodiscard]] Readings read() const;
  [[nodiscard]] std::string driver_version() const;
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;
  std::string missing_;
};

}  // namespace cohort::calibrate
