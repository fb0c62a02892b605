#include "base/device.hpp"

#include <algorithm>
#include <charconv>

namespace cohort {

bool cores_moved(Nanoseconds before, Nanoseconds now) {
  const auto [shorter, longer] = std::minmax(before, now);
  return shorter > Nanoseconds(0) && seconds(longer) >= kCoresApart * seconds(shorter);
}

std::optional<std::int64_t> number_setting(const DeviceInfo& device, std::string_view key) {
  const auto found = device.settings.find(std::string(key));
  if (found == device.settings.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int host_cores(const DeviceInfo& device) {
  return static_cast<int>(std::max<std::int64_t>(1, number_setting(device, kHostCoresSetting).value_or(device.cores)));
}

}  // namespace cohort
