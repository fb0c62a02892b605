#pragma once

#include <string_view>

namespace cohort {

/// Counters of bytes that a framework has allocated on a device: this and the device's number.
inline constexpr std::string_view kMemoryCounter = "allocated bytes, GPU ";

}  // namespace cohort
