#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "training/hyperparameters.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// Steps between two halvings.
struct Rung {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  std::int64_t evaluations = 0;  ///< of each member: one at every epoch's end
  std::size_t members = 0;

  friend bool operator==(const Rung&, const Rung&) = default;
};

/// How many of `members` train when, as long as none diverges or fails. Without halving one rung.
std::vector<Rung> rungs_of(const StepCounts& counts, const std::optional<HalvingRule>& halving, std::size_t members);

}  // namespace cohort
