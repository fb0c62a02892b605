#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "executor/backend.hpp"
#include "executor/clock.hpp"

namespace cohort {

/// Durations of every step of every program step, in preallocated memory of each stream.
class DurationSink final : public TaskSink {
 public:
  DurationSink(std::size_t steps, int streams) : begun_(static_cast<std::size_t>(streams)), durations_(steps) {}

  void begin(StepId /*step*/, StreamId stream) noexcept override { begun_[to_index(stream)] = steady_now(); }
  void end(StepId step, StreamId stream) noexcept override {
    durations_[to_index(step)] = steady_now() - begun_[to_index(stream)];
  }
  void ran(StepId step, StreamId /*stream*/, Nanoseconds begun, Nanoseconds ended) noexcept override {
    durations_[to_index(step)] = ended - begun;
    by_device_ = true;
  }

  [[nodiscard]] Nanoseconds duration(std::size_t step) const { return durations_[step]; }
  [[nodiscard]] bool by_device() const { return by_device_; }

 private:
  std::vector<Nanoseconds> begun_;      ///< by stream
  std::vector<Nanoseconds> durations_;  ///< by step, of the last program step
  bool by_device_ = false;
};

/// What reading the clock twice adds to a step's duration.
inline Nanoseconds clock_cost() {
  std::vector<Nanoseconds> costs(101);
  for (Nanoseconds& cost : costs) {
    const Nanoseconds begin = steady_now();
    cost = steady_now() - begin;
  }
  std::nth_element(costs.begin(), costs.begin() + 50, costs.end());
  return costs[50];
}

}  // namespace cohort
