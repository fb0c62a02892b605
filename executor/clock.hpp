#pragma once

#include <functional>

#include "base/units.hpp"

namespace cohort {

/// Monotonic time. Passed in, so that tests can control it.
using TimeSource = std::function<Nanoseconds()>;

/// The system's steady clock; its origin is that of std::chrono::steady_clock.
inline Nanoseconds steady_now() {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace cohort
