#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/host/kernel.hpp"

/// Calls of several parts (OpCall::parts) on host devices: the parts one after another, each with all the threads.
namespace cohort {

/// What such a call's one way is called.
inline constexpr const char* kGroupedAlgorithm = "grouped";

/// Every part by the library's first choice. Errors: those of the parts.
Result<std::vector<Alternative>> grouped_alternatives(const OpCatalog& catalog, const OpCall& call, int threads);
/// Errors: those of the parts; kInvalidInput for another algorithm.
Result<std::unique_ptr<HostKernel>> prepare_grouped(const HostKernels& kernels, const OpCall& call,
                                                    const std::string& algorithm, int threads,
                                                    std::span<const std::vector<float>> weights);

}  // namespace cohort
