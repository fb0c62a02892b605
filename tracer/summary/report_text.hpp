#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/units.hpp"

namespace cohort {

/// Appends a formatted line.
template <class... Args>
void line(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
  out += '\n';
}

/// 0 of nothing.
inline double percent(Nanoseconds part, Nanoseconds whole) {
  return whole > Nanoseconds{} ? 100.0 * seconds(part) / seconds(whole) : 0.0;
}

inline std::string_view plural(std::int64_t count) { return count == 1 ? "" : "s"; }

/// Names of kernels and signatures of ops can be longer than a screen is wide.
inline std::string shortened(std::string_view name) {
  constexpr std::size_t kMost = 72;
  if (name.size() <= kMost) return std::string(name);
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  return std::string(name.substr(0, end)) + "...";
}

}  // namespace cohort
