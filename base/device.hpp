#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/units.hpp"

namespace cohort {

/// What is known of a device without running anything on it.
struct DeviceInfo {
  std::string id;    ///< "cpu:0", "reference:0", "cuda:0"
  std::string kind;  ///< "cpu", "reference", "cuda"
  std::string name;  ///< "AMD EPYC 9B45"
  int cores = 1;     ///< cores that ops can use at the same time
  Bytes memory;
  bool available = true;
  std::string reason;                           ///< why not available and how to get it; empty otherwise
  std::map<std::string, std::string> settings;  ///< library versions, ISA, environment: what a recording depends on
};

/// Of DeviceInfo::settings, both in bytes: the cache that a CPU's core has to itself, and a GPU's last one.
inline constexpr std::string_view kCoreCacheSetting = "core_cache_bytes";
inline constexpr std::string_view kLastCacheSetting = "l2_bytes";

/// A setting that is a number of bytes; none where it is not known.
Bytes bytes_setting(const DeviceInfo& device, std::string_view key);

}  // namespace cohort
