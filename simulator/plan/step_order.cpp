#include "simulator/plan/step_order.hpp"

#include <algorithm>
#include <functional>

namespace cohort {

void StepOrder::include(Bits& bits, StepId step) const {
  const Bits& other = ancestors_[to_index(step)];
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other[i];
  bits[to_index(step) / 64] |= std::uint64_t{1} << (to_index(step) % 64);
}

std::vector<StepId> StepOrder::add(StreamId stream, std::span<const StepId> dependencies) {
  if (last_on_stream_.size() <= to_index(stream)) last_on_stream_.resize(to_index(stream) + 1);
  std::optional<StepId>& last = last_on_stream_[to_index(stream)];
  Bits bits(words_);
  if (last) include(bits, *last);

  // Latest first: what a later step waits for need not be waited for again.
  std::vector<StepId> sorted(dependencies.begin(), dependencies.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<StepId> needed;
  for (const StepId step : sorted) {
    if ((bits[to_index(step) / 64] >> (to_index(step) % 64) & 1U) != 0) continue;
    needed.push_back(step);
    include(bits, step);
  }
  std::reverse(needed.begin(), needed.end());
  last = static_cast<StepId>(streams_.size());
  ancestors_[to_index(*last)] = std::move(bits);
  streams_.push_back(stream);
  return needed;
}

}  // namespace cohort
