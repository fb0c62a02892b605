#pragma once

#include "base/units.hpp"

namespace cohort {

/// Where the time of a sweep goes.
struct SweepParts {
  Nanoseconds steps{};       ///< training steps on the device: predicted from profiles
  Nanoseconds input{};       ///< samples gathered or decoded and handed over, losses read
  Nanoseconds evaluation{};  ///< states carried over, forward passes, scores
  Nanoseconds files{};       ///< checkpoints, results and finished models
  Nanoseconds opening{};     ///< model batches planned, lowered and loaded

  [[nodiscard]] Nanoseconds total() const { return steps + input + evaluation + files + opening; }
};

}  // namespace cohort
