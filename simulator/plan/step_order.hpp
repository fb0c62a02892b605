#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Which steps are certain to have finished before another starts: by the order of their stream or
/// by dependencies. Steps are added in launch order.
/// Complexity: steps * streams words in all.
class StepOrder {
 public:
  explicit StepOrder(std::size_t steps) {
    places_.reserve(steps);
    clocks_.reserve(steps);
  }

  /// Adds the next step and returns `dependencies` without those that the stream or the others
  /// imply already, ascending.
  std::vector<StepId> add(StreamId stream, std::span<const StepId> dependencies);

  /// Whether `first` has finished before `second` starts. Both must have been added.
  [[nodiscard]] bool before(StepId first, StepId second) const { return reaches(clocks_[to_index(second)], first); }
  [[nodiscard]] StreamId stream(StepId step) const { return places_[to_index(step)].stream; }

 private:
  struct Place {
    StreamId stream{};
    std::uint32_t number = 0;  ///< on its stream, from 1
  };
  /// By stream: how many of its steps have finished; of streams behind the last entry none.
  using Clock = std::vector<std::uint32_t>;

  [[nodiscard]] bool reaches(const Clock& clock, StepId step) const {
    const Place& place = places_[to_index(step)];
    return to_index(place.stream) < clock.size() && clock[to_index(place.stream)] >= place.number;
  }
  void include(Clock& clock, StepId step) const;

  std::vector<Place> places_;  ///< of the steps added so far
  std::vector<Clock> clocks_;  ///< what has finished before each of them starts
  std::vector<std::optional<StepId>> last_on_stream_;
};

}  // namespace cohort
