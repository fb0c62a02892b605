#include "simulator/contention/max_min.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace cohort {
namespace {

/// Less than this of a resource's rising users is what subtractions leave of nothing.
constexpr double kNothing = 1e-12;
constexpr std::uint32_t kNoUse = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void MaxMin::clear(std::size_t resources) {
  uses_.clear();
  first_use_.clear();
  last_use_.assign(resources, kNoUse);
  rising_.assign(resources, 0);
}

std::size_t MaxMin::add_consumer() {
  first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  return first_use_.size() - 1;
}

/// Where what still rises would not fit at full speed.
void MaxMin::queue(std::uint32_t resource) {
  if (rising_[resource] <= kNothing || held_[resource] + rising_[resource] <= kFullLoad) return;
  queue_.push_back({std::max(0.0, (1 - held_[resource]) / rising_[resource]), resource});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
}

void MaxMin::solve() {
  speed_.assign(first_use_.size(), 1);
  if (std::all_of(rising_.begin(), rising_.end(), [](double amount) { return amount <= kFullLoad; })) return;
  first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  frozen_.assign(speed_.size(), 0);
  held_.assign(rising_.size(), 0);
  for (std::uint32_t resource = 0; resource < rising_.size(); ++resource) queue(resource);
  double reached = 0;  // levels only rise, but for rounding
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    const Reach next = queue_.back();
    queue_.pop_back();
    // Consumers that others have stopped meanwhile leave more to the rest: its turn may come later than it seemed.
    const double level = std::max(0.0, (1 - held_[next.resource]) / rising_[next.resource]);
    if (rising_[next.resource] > kNothing && level <= next.level) {
      reached = std::max(reached, level);
      freeze(next.resource, reached);
    } else {
      queue(next.resource);
    }
  }
  first_use_.pop_back();
}

void MaxMin::freeze(std::uint32_t resource, double level) {
  for (std::uint32_t of = last_use_[resource]; of != kNoUse; of = uses_[of].before) {
    const std::uint32_t consumer = uses_[of].consumer;
    if (frozen_[consumer]) continue;
    frozen_[consumer] = 1;
    speed_[consumer] = level;
    for (std::uint32_t u = first_use_[consumer]; u < first_use_[consumer + 1]; ++u) {
      rising_[uses_[u].resource] -= uses_[u].amount;
      held_[uses_[u].resource] += uses_[u].amount * level;
    }
  }
  rising_[resource] = 0;
}

}  // namespace cohort
