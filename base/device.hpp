#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

/// Keys of DeviceInfo::settings whose values are whole numbers.
inline constexpr std::string_view kCoreCacheSetting = "core_cache_bytes";      ///< what a CPU's core caches alone
inline constexpr std::string_view kSharedCacheSetting = "shared_cache_bytes";  ///< what a CPU's cores cache together
inline constexpr std::string_view kLastCacheSetting = "l2_bytes";              ///< a GPU's last cache
inline constexpr std::string_view kHostCoresSetting = "host_cores";            ///< of a GPU's host, for this process
inline constexpr std::string_view kConnectionsSetting = "max_connections";     ///< CUDA_DEVICE_MAX_CONNECTIONS

/// Ratio of the round trips between two cores from which on they count as further apart than before. Where they share
/// no cache any more it is five and more: a hypervisor moves a virtual machine's cores about.
inline constexpr double kCoresApart = 2;

/// Whether two round trips say that cores were moved, apart or together; not where one is zero, which is unknown.
bool cores_moved(Nanoseconds before, Nanoseconds now);

/// Absent where it is not known, or no whole number.
std::optional<std::int64_t> number_setting(const DeviceInfo& device, std::string_view key);

/// Cores of the host that can decode input: a CPU's own; at least 1.
int host_cores(const DeviceInfo& device);

}  // namespace cohort
