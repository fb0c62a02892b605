#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/contention/gpu_profile.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// The order in which launches get the driver's lock if several host threads launch (Program::launch_threads): first
/// come, first served; ties by launch order. A thread launches its streams' steps in order, each as soon as the
/// launches that it depends on have been made on other threads. `kernels`: that each step launches; none given: one
/// each. Complexity: O(steps x threads + dependencies).
std::vector<std::uint32_t> order_of_launch_threads(const Program& program, const LaunchCosts& costs,
                                                   std::span<const int> kernels = {});

}  // namespace cohort
