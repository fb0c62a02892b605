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

 private:
  struct Longest {
    Nanoseconds time{};
    LaunchShape shape;
  };
  using Form = std::tuple<std::string, std::string, std::string>;  ///< signature, strategy, algorithm
  std::map<Form, std::map<int, Longest>> forms_;                   ///< then by width
};

}  // namespace cohort
