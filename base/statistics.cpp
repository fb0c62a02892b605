#include "base/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

namespace cohort {
namespace {

/// Two neighbours in order of size, and how far from the first to the second the quantile lies, 0 to 1.
template <class Value>
struct Place {
  Value below, above;
  double part;
};

template <class Value>
Place<Value> place_of(std::vector<Value>& samples, double position) {
  assert(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const double place = position * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, samples.size() - 1);
  return {samples[below], samples[above], place - static_cast<double>(below)};
}

}  // namespace

double quantile(std::vector<double> samples, double position) {
  const Place<double> place = place_of(samples, position);
  return place.below + place.part * (place.above - place.below);
}

Nanoseconds quantile(std::vector<Nanoseconds> samples, double position) {
  const Place<Nanoseconds> place = place_of(samples, position);
  return place.below + Nanoseconds(std::llround(place.part * static_cast<double>((place.above - place.below).count())));
}

double median(std::vector<double> samples) { return quantile(std::move(samples), 0.5); }
Nanoseconds median(std::vector<Nanoseconds> samples) { return quantile(std::move(samples), 0.5); }

}  // namespace cohort
