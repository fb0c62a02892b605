#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace cohort::onednn {

/// Elements below which handing work to another thread takes longer than doing it.
inline constexpr std::int64_t kGrain = 8192;

/// Calls body(begin, end) for parts of [0, count), by up to `threads` OpenMP threads of which each gets one part, of
/// about kGrain elements at least, if an item has `elements`. Cuts depend on the arguments alone.
template <class Body>
void in_parallel(int threads, std::int64_t count, std::int64_t elements, const Body& body) {
  const std::int64_t most = std::max<std::int64_t>(count * std::max<std::int64_t>(elements, 1) / kGrain, 1);
  const std::int64_t parts = std::min<std::int64_t>({threads, count, most});
  if (parts <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static)
  for (std::int64_t part = 0; part < parts; ++part) body(count * part / parts, count * (part + 1) / parts);
}

}  // namespace cohort::onednn
