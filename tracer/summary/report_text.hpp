#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
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

}  // namespace cohort
