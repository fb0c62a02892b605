#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "view/explore/exploration.hpp"

namespace cohort {

/// A file of the repository's recorded traces.
std::filesystem::path recorded(std::string_view name);

/// An exploration that opens.
std::unique_ptr<Exploration> explore(const std::vector<std::filesystem::path>& files);
std::unique_ptr<Exploration> explore(std::vector<NamedTrace> traces);

/// An answer that there is.
ExploreAnswer predict(Exploration& exploration, const ExploreSettings& settings);

/// A made-up profile of a built-in network: each op takes 20 us on one core, two members fused 24 us.
NamedTrace fake_profile_of(std::string_view network, std::int64_t minibatch, bool on_gpu = false);

/// So many kernels of 2 us behind launches of 5 us, as the trace of a run, and which part of it is the step.
NamedTrace launch_bound_trace(int kernels);
StepOptions launch_bound_step();
/// An exploration of it.
std::unique_ptr<Exploration> explore_launch_bound(int kernels);

}  // namespace cohort
