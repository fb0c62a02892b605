#include "training/space.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {
namespace {

/// Uniform in [0, 1) with all of a double's bits.
double fraction(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1.0p-53; }

ParameterValue drawn_from(const Interval& interval, Random& random) {
  if (interval.whole) {
    const auto low = static_cast<std::int64_t>(interval.low);
    const auto count = static_cast<std::uint64_t>(static_cast<std::int64_t>(interval.high) - low) + 1;
    if (!interval.logarithmic) return low + static_cast<std::int64_t>(random.below(count));
    // Each whole number stands for what is rounded down to it.
    const double drawn =
        std::exp(std::log(interval.low) + fraction(random) * (std::log(interval.high + 1) - std::log(interval.low)));
    return std::clamp(static_cast<std::int64_t>(drawn), low, static_cast<std::int64_t>(interval.high));
  }
  if (!interval.logarithmic) return interval.low + fraction(random) * (interval.high - interval.low);
  const double drawn =
      std::exp(std::log(interval.low) + fraction(random) * (std::log(interval.high) - std::log(interval.low)));
  return std::clamp(drawn, interval.low, interval.high);
}

}  // namespace

std::size_t grid_size(const std::vector<Dimension>& dimensions, std::size_t most) {
  std::size_t size = 1;
  for (const Dimension& dimension : dimensions) {
    const std::size_t count = std::get<std::vector<ParameterValue>>(dimension.values).size();
    if (count > most / size) return most + 1;
    size *= count;
  }
  return size;
}

std::vector<Point> grid_of(const std::vector<Dimension>& dimensions) {
  std::vector<Point> points(1);
  for (const Dimension& dimension : dimensions) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (const ParameterValue& value : std::get<std::vector<ParameterValue>>(dimension.values)) {
        longer.push_back(point);
        longer.back().emplace_back(dimension.name, value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

Point drawn_point(const std::vector<Dimension>& dimensions, Random& random) {
  Point point;
  for (const Dimension& dimension : dimensions) {
    if (const auto* interval = std::get_if<Interval>(&dimension.values)) {
      point.emplace_back(dimension.name, drawn_from(*interval, random));
    } else {
      const auto& values = std::get<std::vector<ParameterValue>>(dimension.values);
      point.emplace_back(dimension.name, values[random.below(values.size())]);
    }
  }
  return point;
}

}  // namespace cohort
