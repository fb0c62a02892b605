#pragma once

#include <cstdint>
#include <string>

namespace cohort {

/// About so many events as PyTorch's profiler writes them: each op with its launch, its kernel and their flow.
std::string made_up_trace(std::int64_t events);

}  // namespace cohort
