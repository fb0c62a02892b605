#pragma once

#include <memory>
#include <span>

#include "executor/host/kernel.hpp"
#include "executor/onednn/implementation.hpp"

namespace cohort::onednn {

/// A kernel that runs `implementation`, its weights packed. Call with the OpenMP thread count that
/// the implementation was made for. Throws dnnl::error.
std::unique_ptr<HostKernel> make_kernel(Implementation& implementation, const OpCall& call,
                                        std::span<const std::vector<float>> weights, const dnnl::engine& engine);

}  // namespace cohort::onednn
