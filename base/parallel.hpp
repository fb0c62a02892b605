#pragma once

#include <cstddef>
#include <functional>

namespace cohort {

/// Calls `work(worker, i)` once for each i below `count`, on up to `workers` threads, and returns when all have ended.
/// No two calls with the same `worker`, which is below `workers`, run at once; the first one is the caller's thread. An
/// exception of a call is thrown again once all have ended.
void parallel_for(std::size_t count, std::size_t workers,
                  const std::function<void(std::size_t worker, std::size_t i)>& work);

}  // namespace cohort
