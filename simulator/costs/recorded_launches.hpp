#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "simulator/contention/occupancy.hpp"
#include "simulator/plan/program.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// How the ops of recorded profiles were launched on a GPU: grid, block, registers and shared memory, as the kernels
/// recorded beside the timings say (cohort profile on a GPU).
class RecordedLaunches {
 public:
  RecordedLaunches() = default;
  explicit RecordedLaunches(std::span<const Trace* const> profiles);

  /// Of the kernel that takes most of the call's time. A width that was not recorded is launched as the nearest one, in
  /// more or fewer blocks; an empty algorithm means any. Absent where no kernel of the op was recorded so.
  [[nodiscard]] std::optional<LaunchShape> find(const CostKey& key) const;

  /// How many kernels a call launches, at least one: as recorded; of a width that was not, as the nearest one does, or
  /// one for each member where that did so.
  [[nodiscard]] int kernels(const CostKey& key) const;

 private:
  struct Recorded {
    Nanoseconds time{};  ///< of the kernel that takes longest
    LaunchShape shape;
    int kernels = 1;  ///< of a call
  };
  using Form = std::tuple<std::string, std::string, std::string>;  ///< signature, strategy, algorithm
  using Widths = std::map<int, Recorded>;
  [[nodiscard]] const Widths* widths_of(const CostKey& key) const;

  std::map<Form, Widths> forms_;
};

}  // namespace cohort
