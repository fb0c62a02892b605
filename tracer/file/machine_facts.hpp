#pragma once

#include <simdjson.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tracer/trace.hpp"

namespace cohort {

/// What the top level of PyTorch's traces says of the machine, and of how it was recorded, by which a trace can be
/// trusted more or less. What cannot be read of it is left out.
class MachineFacts {
 public:
  /// A field of the top level; others than those of interest are passed over.
  void read(std::string_view key, simdjson::ondemand::value value);
  /// Settings, and of several GPUs the one that most kernels ran on, the first where kernels do not say.
  void apply(Trace& trace) const;

 private:
  void read_devices(simdjson::ondemand::value value);
  void read_device(simdjson::ondemand::object& device);
  void read_setting(std::string_view key, simdjson::ondemand::value value);
  void keep_setting(const std::string& name, simdjson::ondemand::value value);

  std::vector<DeviceInfo> devices_;
  std::map<std::string, std::string> settings_;
};

}  // namespace cohort
