#pragma once

#include <string>

#include "base/result.hpp"
#include "base/units.hpp"

namespace cohort {

/// Calibrated properties of a device that do not show in times of single ops.
struct DeviceProfile {
  std::string device;             ///< DeviceInfo::name; empty where it was never named
  int cores = 1;                  ///< cores that ops can use at the same time
  Nanoseconds step_overhead{};    ///< host work around each program step of a replay
  Nanoseconds launch_overhead{};  ///< host work to launch one program step outside a captured graph
  Nanoseconds handoff_latency{};  ///< from a step's end to the start of one on another stream that waits for it
  Nanoseconds core_round_trip{};  ///< of a cache line between two cores while ops were timed; zero: unknown
  /// How long helper threads of a multi-threaded op keep their cores busy, waiting for the next one.
  Nanoseconds spin_time{};
  /// Slowdown of a multi-threaded op, beyond its share of cores, while tasks ask for more cores than there are: its
  /// barriers wait for the thread that was scheduled last.
  double oversubscription_penalty = 1;

  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

/// Checks ranges. Errors: kInvalidInput naming the field.
Result<void> validate(const DeviceProfile& profile);

}  // namespace cohort
