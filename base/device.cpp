#include "base/device.hpp"

#include <charconv>

namespace cohort {

Bytes bytes_setting(const DeviceInfo& device, std::string_view key) {
  Bytes bytes{};
  const auto found = device.settings.find(std::string(key));
  if (found != device.settings.end())
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), bytes.value);
  return bytes;
}

}  // namespace cohort
