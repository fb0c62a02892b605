#pragma once

#include <cstdint>
#include <vector>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// The order in which launches get the driver's lock where several host threads launch (Program::launch_threads): first
/// come, first served, of one moment the first in launch order. A thread gives its streams' steps in launch order, each
/// as soon as the launches on other threads that it depends on have been given.
/// Complexity: O(steps x threads + dependencies).
std::vector<std::uint32_t> order_of_launch_threads(const Program& program, const LaunchCosts& costs);

}  // namespace cohort
