#pragma once

#include <string_view>

namespace cohort {

/// Name of counters of the bytes that a framework has allocated on a device, followed by the device's number.
inline constexpr std::string_view kMemoryCounter = "allocated bytes, GPU ";

}  // namespace cohort
