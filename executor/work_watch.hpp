#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "base/units.hpp"

namespace cohort {

/// Time of a fixed piece of work on the device; longer while something takes a share of the device that no counter
/// shows.
using WorkProbe = std::function<Nanoseconds()>;

/// Which parts of a measurement to trust: those during which the probe's work took little longer than its shortest
/// time.
class WorkWatch {
 public:
  /// Largest ratio to the shortest time that counts as undisturbed.
  static constexpr double kSlowed = 1.25;

  /// With an empty probe everything is trusted.
  explicit WorkWatch(WorkProbe probe) : probe_(std::move(probe)) { (void)next(); }

  /// Does the work: its time now or at the last call, whichever is longer.
  Nanoseconds next() {
    if (!probe_) return {};
    const Nanoseconds before = last_;
    last_ = probe_();
    shortest_ = std::min(shortest_, last_);
    return std::max(before, last_);
  }

  /// 1 where `work`, as next() returned it, is as short as any was, kSlowed where it is the longest to be trusted.
  [[nodiscard]] double slowed(Nanoseconds work) const { return probe_ ? seconds(work) / seconds(shortest_) : 1; }

 private:
  WorkProbe probe_;
  Nanoseconds last_{};
  Nanoseconds shortest_ = Nanoseconds::max();
};

}  // namespace cohort
