#include "training/rungs.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {

std::vector<Rung> rungs_of(const StepCounts& counts, const std::optional<HalvingRule>& halving, std::size_t members) {
  std::vector<Rung> rungs;
  for (std::int64_t step = 0; step < counts.all;) {
    const std::int64_t left = counts.all - step;
    const bool drops = halving && static_cast<std::int64_t>(members) > halving->at_least;
    Rung rung{step, drops ? std::min(left, halving->every * counts.per_epoch) : left, 0, members};
    rung.evaluations = (rung.steps + counts.per_epoch - 1) / counts.per_epoch;
    step += rung.steps;
    rungs.push_back(rung);
    if (!drops) continue;
    const auto kept = static_cast<std::size_t>(std::ceil(halving->keep * static_cast<double>(members)));
    members = std::max(kept, static_cast<std::size_t>(halving->at_least));
  }
  return rungs;
}

}  // namespace cohort
