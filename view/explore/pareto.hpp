#pragma once

#include "view/explore/explore_answer.hpp"

namespace cohort {

/// Fills in the Pareto fronts time_memory and throughput_latency.
void find_fronts(Recommendation& recommendation);

}  // namespace cohort
