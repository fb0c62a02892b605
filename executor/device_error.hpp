#pragma once

#include <stdexcept>
#include <string>

namespace cohort {

/// A call into a device library failed after set-up. Names the call, its status and the place;
/// turned into a Result by Session::synchronize().
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace cohort
