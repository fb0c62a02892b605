#include "simulator/plan/step_order.hpp"

#include <algorithm>
#include <functional>

namespace cohort {

void StepOrder::include(Clock& clock, StepId step) const {
  const Clock& other = clocks_[to_index(step)];
  const Place& place = places_[to_index(step)];
  clock.resize(std::max({clock.size(), other.size(), to_index(place.stream) + 1}));
  for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
  std::uint32_t& own = clock[to_index(place.stream)];
  own = std::max(own, place.number);
}

std::vector<StepId> StepOrder::add(StreamId stream, std::span<const StepId> dependencies) {
  if (last_on_stream_.size() <= to_index(stream)) last_on_stream_.resize(to_index(stream) + 1);
  std::optional<StepId>& last = last_on_stream_[to_index(stream)];
  Clock clock;
  if (last) include(clock, *last);

  // Latest first: what a later step waits for need not be waited for again.
  std::vector<StepId> sorted(dependencies.begin(), dependencies.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<StepId> needed;
  for (const StepId step : sorted) {
    if (reaches(clock, step)) continue;
    needed.push_back(step);
    include(clock, step);
  }
  std::reverse(needed.begin(), needed.end());
  const std::uint32_t number = last ? places_[to_index(*last)].number + 1 : 1;
  last = static_cast<StepId>(places_.size());
  places_.push_back({stream, number});
  clocks_.push_back(std::move(clock));
  return needed;
}

}  // namespace cohort
