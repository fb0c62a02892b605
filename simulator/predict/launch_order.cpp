#include "simulator/predict/launch_order.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cohort {

std::vector<std::uint32_t> order_of_launch_threads(const Program& program, const LaunchCosts& costs,
                                                   std::span<const int> kernels) {
  const auto launches = [&](std::uint32_t step) { return kernels.empty() ? 1 : kernels[step]; };
  const auto thread_of = [&](std::size_t step) {
    return static_cast<std::size_t>(program.launch_thread_of(program.steps[step].stream));
  };
  std::vector<std::vector<std::uint32_t>> queues(static_cast<std::size_t>(program.launch_threads));
  for (std::uint32_t i = 0; i < program.steps.size(); ++i) queues[thread_of(i)].push_back(i);
  std::vector<std::size_t> next(queues.size(), 0);
  std::vector<Nanoseconds> free(queues.size());
  std::vector<std::optional<Nanoseconds>> given(program.steps.size());
  Nanoseconds lock_free{};
  /// When a step's launch asks for the lock; absent while one that it waits for has not been given.
  const auto arrival = [&](std::uint32_t step) -> std::optional<Nanoseconds> {
    Nanoseconds start = free[thread_of(step)];
    for (const StepId from : program.steps[step].dependencies) {
      if (thread_of(to_index(from)) == thread_of(step)) continue;
      if (!given[to_index(from)]) return std::nullopt;
      start = std::max(start, *given[to_index(from)]);
    }
    return start + (costs.call - costs.lock) * launches(step);
  };
  std::vector<std::uint32_t> order;
  order.reserve(program.steps.size());
  while (order.size() < program.steps.size()) {
    std::optional<std::pair<Nanoseconds, std::uint32_t>> first;
    for (std::size_t t = 0; t < queues.size(); ++t) {
      if (next[t] == queues[t].size()) continue;
      const std::uint32_t step = queues[t][next[t]];
      const auto asks = arrival(step);
      if (asks && (!first || std::pair(*asks, step) < *first)) first = {*asks, step};
    }
    // Dependencies go back in launch order: the first step that has not been given waits for none.
    const auto [asks, step] = *first;
    lock_free = std::max(asks, lock_free) + costs.lock * launches(step);
    given[step] = free[thread_of(step)] = lock_free;
    ++next[thread_of(step)];
    order.push_back(step);
  }
  return order;
}

}  // namespace cohort
