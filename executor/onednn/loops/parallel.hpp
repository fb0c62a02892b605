#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#if defined(__SANITIZE_THREAD__)
#include <thread>
#include <vector>
#endif

namespace cohort::onednn {

/// Elements below which handing work to another thread takes longer than doing it.
inline constexpr std::int64_t kGrain = 8192;

/// Calls given(part) for parts 0 to parts - 1, by `threads` threads of OpenMP's. The first exception of a part is
/// thrown when all have ended, as none may leave a thread's share of the work.
template <class Body>
void for_each_part(int threads, std::int64_t parts, const Body& given) {
  std::atomic<bool> has_failed = false;
  std::exception_ptr first;
  const auto body = [&](std::int64_t part) {
    try {
      given(part);
    } catch (...) {
      if (!has_failed.exchange(true)) first = std::current_exception();
    }
  };
#if defined(__SANITIZE_THREAD__)
  // The sanitizer does not see libgomp's barriers, and takes for races what they order. These threads it sees.
  {
    std::vector<std::jthread> helpers;  // joined at the end of the block
    for (int helper = 1; helper < threads; ++helper) {
      helpers.emplace_back([=, &body] {
        for (std::int64_t part = helper; part < parts; part += threads) body(part);
      });
    }
    for (std::int64_t part = 0; part < parts; part += threads) body(part);
  }
#else
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t part = 0; part < parts; ++part) body(part);
#endif
  if (first) std::rethrow_exception(first);
}

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
  for_each_part(static_cast<int>(parts), parts,
                [&](std::int64_t part) { body(count * part / parts, count * (part + 1) / parts); });
}

}  // namespace cohort::onednn
