#pragma once

#include <vector>

#include "executor/cuda/calls.hpp"
#include "executor/cuda/own/kernel_arguments.hpp"

namespace cohort::cuda::own {

/// Few launches that do what each part's kernels do: the first ones of all parts, then the second ones, with one
/// launch for each kind and type of kernel. Tables go to `store`. Throws DeviceError.
std::vector<KernelArguments> tabled(const std::vector<std::vector<KernelArguments>>& parts, WeightStore& store);

/// Room that a part's entries in tables take in the store, at most, for one bind().
inline constexpr Bytes kTableRoom{2048};

}  // namespace cohort::cuda::own
