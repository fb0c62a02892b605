#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "base/units.hpp"

namespace cohort {

/// Time of a fixed piece of work on the device, which is longer while something takes a part of it that no counter
/// tells.
using WorkProbe = std::function<Nanoseconds()>;

/// What of a measurement can be trusted: that during which a probe's work took little longer than it ever did.
class WorkWatch {
 public:
  /// Most of the shortest time that counts as undisturbed.
  static constexpr double kSlowed = 1.25;

  /// Of an empty probe everything can be trusted.
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
