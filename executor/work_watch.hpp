#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/device.hpp"
#include "base/units.hpp"

namespace cohort {

/// How fast a device is at one moment.
struct Probed {
  Nanoseconds work{};  ///< time of a fixed piece of work: longer while something takes a share that no counter shows
  /// In which a cache line goes from one core to another and back, for the pair that is furthest apart; zero where it
  /// is not known. Longer while a hypervisor runs a virtual machine's cores on parts of the processor that share no
  /// cache, which makes ops on several cores slower and others not.
  Nanoseconds round_trip{};

  friend bool operator==(const Probed&, const Probed&) = default;
};
using WorkProbe = std::function<Probed()>;

/// Which parts of a measurement to trust: those during which the probe's work took little longer than its shortest
/// time, and cores were as near to each other as they ever were.
class WorkWatch {
 public:
  /// Largest ratio to the shortest time that counts as undisturbed.
  static constexpr double kSlowed = 1.25;

  /// With an empty probe everything is trusted.
  explicit WorkWatch(WorkProbe probe) : probe_(std::move(probe)) { (void)next(); }

  /// Probes the device: as it is now or was at the last call, whichever is slower.
  Probed next() {
    if (!probe_) return {};
    const Probed before = last_;
    last_ = probe_();
    shortest_ = {std::min(shortest_.work, last_.work), std::min(shortest_.round_trip, last_.round_trip)};
    if (last_.round_trip > Nanoseconds(0)) round_trips_.push_back(last_.round_trip);
    return {std::max(before.work, last_.work), std::max(before.round_trip, last_.round_trip)};
  }

  /// 1 where what next() returned is as fast as any was, kSlowed where it is the slowest to be trusted.
  [[nodiscard]] double slowed(const Probed& probed) const {
    if (!probe_) return 1;
    const double work = seconds(probed.work) / seconds(shortest_.work);
    if (shortest_.round_trip <= Nanoseconds(0)) return work;
    return std::max(work, kSlowed / kCoresApart * seconds(probed.round_trip) / seconds(shortest_.round_trip));
  }

  /// Of samples, each with what next() returned around it, those that are to be trusted; all where none is.
  template <class Sample>
  [[nodiscard]] std::vector<Sample> trusted(std::vector<Sample> samples, const std::vector<Probed>& probed) const {
    std::vector<Sample> kept;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (slowed(probed[i]) <= kSlowed) kept.push_back(samples[i]);
    }
    return kept.empty() ? std::move(samples) : kept;
  }

  /// All that are known, in the order in which they were probed.
  [[nodiscard]] const std::vector<Nanoseconds>& round_trips() const { return round_trips_; }

 private:
  WorkProbe probe_;
  Probed last_;
  Probed shortest_{Nanoseconds::max(), Nanoseconds::max()};
  std::vector<Nanoseconds> round_trips_;
};

}  // namespace cohort
