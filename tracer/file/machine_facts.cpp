#include "tracer/file/machine_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "tracer/file/compact_json.hpp"
#include "tracer/slice_kind.hpp"

namespace cohort {

namespace ondemand = simdjson::ondemand;

void MachineFacts::read(std::string_view key, ondemand::value value) {
  if (key == "deviceProperties") {
    read_devices(value);
  } else {
    read_setting(key, value);
  }
}

/// PyTorch's list of the machine's GPUs. What cannot be read of it is left out.
void MachineFacts::read_devices(ondemand::value value) {
  ondemand::array devices;
  if (value.get_array().get(devices)) return;
  for (auto element : devices) {
    constexpr std::size_t kMostDevices = 1024;
    ondemand::object device;
    if (devices_.size() == kMostDevices || element.get_object().get(device)) return;
    read_device(device);
  }
}

void MachineFacts::read_device(ondemand::object& device) {
  DeviceInfo info;
  std::int64_t id = 0;
  for (auto item : device) {
    ondemand::field field;
    if (std::move(item).get(field)) return;
    std::string_view key;
    if (field.unescaped_key().get(key)) return;
    const std::string name(key);
    std::string_view text;
    std::int64_t number = 0;
    if (name == "name") {
      if (!field.value().get_string().get(text)) info.name = text;
    } else if (!field.value().get_int64().get(number)) {
      if (name == "id") id = number;
      if (name == "totalGlobalMem" && number > 0) info.memory = {number};
      if (name == "numSms" && number > 0 && number < std::numeric_limits<int>::max())
        info.cores = static_cast<int>(number);
      constexpr std::size_t kMostSettings = 256;
      const bool has_field = name == "id" || name == "totalGlobalMem" || name == "numSms";
      if (!has_field && info.settings.size() < kMostSettings) info.settings[name] = std::to_string(number);
    }
  }
  const bool amd = info.name.find("AMD") != std::string::npos || info.name.find("Radeon") != std::string::npos;
  info.kind = amd ? "hip" : "cuda";
  info.id = fmt::format("{}:{}", info.kind, id);
  devices_.push_back(std::move(info));
}

void MachineFacts::read_setting(std::string_view key, ondemand::value value) {
  constexpr std::array<std::string_view, 12> kKept = {
      "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version",
      "hip_driver_version",   "roctracer_version",   "record_shapes", "profile_memory",
      "with_stack",           "with_modules",        "with_flops",    "distributedInfo"};
  if (std::find(kKept.begin(), kKept.end(), key) == kKept.end()) return;
  const std::string name(key);
  if (ondemand::object object; name == "distributedInfo") {
    if (value.get_object().get(object)) return;
    for (auto item : object) {
      ondemand::field field;
      if (std::move(item).get(field)) return;
      const bool kept = field.key() == "backend" || field.key() == "rank" || field.key() == "world_size";
      if (!kept) continue;
      std::string_view part;
      if (field.unescaped_key().get(part)) return;
      keep_setting(fmt::format("distributed {}", part), field.value());
    }
    return;
  }
  keep_setting(name, value);
}

/// A short number or text; lists and objects are left out.
void MachineFacts::keep_setting(const std::string& name, ondemand::value value) {
  const std::string_view raw = bare_token(value.raw_json_token());
  constexpr std::size_t kMostText = 60;
  if (raw.size() <= kMostText && raw.find_first_of("[{\\\"") == std::string_view::npos) settings_[name] = raw;
}

void MachineFacts::apply(Trace& trace) const {
  for (const auto& [name, value] : settings_) trace.info.settings[name] = value;
  if (devices_.empty()) return;
  const SliceKinds kinds(trace.strings);
  std::map<std::int64_t, std::int64_t> kernels;
  for (const Slice& slice : trace.slices) {
    if (kinds(slice) != SliceKind::kKernel) continue;
    if (const auto device = trace.integer_arg(slice, "device")) ++kernels[*device];
  }
  const auto most = std::max_element(kernels.begin(), kernels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  auto chosen = devices_.begin();
  if (most != kernels.end()) {
    const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const DeviceInfo& info) {
      return info.id == fmt::format("{}:{}", info.kind, most->first);
    });
    if (found != devices_.end()) chosen = found;
  }
  trace.info.device = *chosen;
  if (devices_.size() > 1) trace.info.device.settings["devices in the machine"] = std::to_string(devices_.size());
}

}  // namespace cohort
