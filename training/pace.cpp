#include "training/pace.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {

void Pace::add_steps(std::int64_t steps, std::size_t members, Nanoseconds took) {
  step_.sum += static_cast<double>(took.count());
  step_.count += static_cast<double>(steps) * static_cast<double>(members);
}

void Pace::add_evaluation(std::size_t members, Nanoseconds took) {
  evaluation_.sum += static_cast<double>(took.count());
  evaluation_.count += static_cast<double>(members);
}

void Pace::add_epoch_end(Nanoseconds took) {
  epoch_end_.sum += static_cast<double>(took.count());
  epoch_end_.count += 1;
}

Nanoseconds Pace::left(std::int64_t done) const {
  const double evaluation =
      evaluation_.count > 0 ? evaluation_.value() : step_.value() / 3 * static_cast<double>(evaluation_minibatches_);
  double sum = 0;
  for (const Rung& rung : rungs_) {
    const std::int64_t end = rung.first_step + rung.steps;
    if (end <= done) continue;
    const std::int64_t begin = std::max(done, rung.first_step);
    const auto members = static_cast<double>(rung.members);
    const auto ends =
        static_cast<double>((end + counts_.per_epoch - 1) / counts_.per_epoch - begin / counts_.per_epoch);
    sum += static_cast<double>(end - begin) * members * step_.value();
    sum += ends * (members * evaluation + epoch_end_.value());
  }
  return Nanoseconds(std::llround(sum));
}

}  // namespace cohort
