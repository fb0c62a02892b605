#pragma once

#include <span>

namespace cohort::onednn {

/// Sets how many OpenMP threads the calling thread's next ops use, and binds those helpers that it needs anew to
/// `cores`, after the first, which is the caller's own; none: helpers roam.
void use_team(int threads, std::span<const int> cores);

}  // namespace cohort::onednn
