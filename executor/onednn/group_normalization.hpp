#pragma once

#include <memory>
#include <span>
#include <vector>

#include "executor/host/kernel.hpp"

namespace cohort::onednn {

/// Group and instance normalisation, which oneDNN 2.6 has no primitive for: loops that compilers vectorise, by as
/// many OpenMP threads as the call is prepared for.
inline constexpr const char* kGroupNormalizationLoops = "loops";

/// Whether they take the call: a GroupNormalization by constants and without post-ops, of views whose channels or
/// whose positions adjoin in memory, the same in both.
bool normalizes_groups(const OpCall& call);

/// A kernel for a call that they take. `weights` are the values of scale and shift.
std::unique_ptr<HostKernel> make_group_normalization(const OpCall& call, int threads,
                                                     std::span<const std::vector<float>> weights);

}  // namespace cohort::onednn
