#include "simulator/contention/max_min.hpp"

#include <algorithm>

namespace cohort {
namespace {

/// Amounts that add up to this little above 1 still fit: sums of rounded numbers.
constexpr double kFull = 1 + 1e-12;
/// Less than this of a resource's rising users is what subtractions leave of nothing.
constexpr double kNothing = 1e-12;

}  // namespace

void MaxMin::clear(std::size_t resources) {
  uses_.clear();
  first_use_.clear();
  rising_.assign(resources, 0);
}

std::size_t MaxMin::add_consumer() {
  first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  return first_use_.size() - 1;
}

bool MaxMin::all_fit() const {
  return std::all_of(rising_.begin(), rising_.end(), [](double amount) { return amount <= kFull; });
}

void MaxMin::solve() {
  speed_.assign(first_use_.size(), 1);
  if (all_fit()) return;
  first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  frozen_.assign(speed_.size(), 0);
  held_.assign(rising_.size(), 0);
  for (;;) {
    double level = 1;
    std::size_t full = rising_.size();
    for (std::size_t r = 0; r < rising_.size(); ++r) {
      if (rising_[r] <= kNothing || held_[r] + rising_[r] * level <= kFull) continue;
      const double reach = std::max(0.0, (1 - held_[r]) / rising_[r]);
      if (reach < level) {
        level = reach;
        full = r;
      }
    }
    if (full == rising_.size()) break;
    freeze(full, level);
  }
  first_use_.pop_back();
}

void MaxMin::freeze(std::size_t resource, double level) {
  for (std::size_t c = 0; c < speed_.size(); ++c) {
    if (frozen_[c]) continue;
    const auto begin = uses_.begin() + first_use_[c];
    const auto end = uses_.begin() + first_use_[c + 1];
    if (std::none_of(begin, end, [&](const Use& use) { return use.resource == resource; })) continue;
    frozen_[c] = 1;
    speed_[c] = level;
    for (auto use = begin; use != end; ++use) {
      rising_[use->resource] -= use->amount;
      held_[use->resource] += use->amount * level;
    }
  }
  rising_[resource] = 0;
}

}  // namespace cohort
