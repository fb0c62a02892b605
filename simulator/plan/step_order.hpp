#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Which steps are certain to have finished before another starts: by the order of their stream or
/// by dependencies. Steps are added in launch order.
/// Complexity: steps^2/64 words in all.
class StepOrder {
 public:
  explicit StepOrder(std::size_t steps) : words_((steps + 63) / 64), ancestors_(steps) {}

  /// Adds the next step and returns `dependencies` without those that the stream or the others
  /// imply already, ascending.
  std::vector<StepId> add(StreamId stream, std::span<const StepId> dependencies);

  /// Whether `first` has finished before `second` starts. Both must have been added.
  [[nodiscard]] bool before(StepId first, StepId second) const {
    return (ancestors_[to_index(second)][to_index(first) / 64] >> (to_index(first) % 64) & 1U) != 0;
  }
  [[nodiscard]] StreamId stream(StepId step) const { return streams_[to_index(step)]; }

 private:
  using Bits = std::vector<std::uint64_t>;

  void include(Bits& bits, StepId step) const;

  std::size_t words_;
  std::vector<StreamId> streams_;  ///< of the steps added so far
  std::vector<Bits> ancestors_;
  std::vector<std::optional<StepId>> last_on_stream_;
};

}  // namespace cohort
