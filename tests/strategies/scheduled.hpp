#pragma once

#include <vector>

#include "tests/strategies/batch.hpp"

namespace cohort::testing {

/// The batch of equal members by every schedule of simulator/schedule, as if each op took as long as its work says
/// and all cores helped every eighth one; on `streams` streams.
std::vector<Plan> scheduled_plans(const Batch& batch, int streams);
/// The same with convolutions and products computed together, but for the schedule that keeps stages apart.
std::vector<Plan> fused_scheduled_plans(const Batch& batch, int streams);

}  // namespace cohort::testing
