#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "training/hyperparameters.hpp"

namespace cohort {

/// A number drawn between two others; with `logarithmic` its logarithm is, with `whole` both ends are among the values.
struct Interval {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  bool whole = false;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The values that one hyperparameter may have.
struct Dimension {
  std::string name;
  std::variant<std::vector<ParameterValue>, Interval> values;

  friend bool operator==(const Dimension&, const Dimension&) = default;
};

/// Every combination, the last dimension fastest. Only lists.
std::vector<Point> grid_of(const std::vector<Dimension>& dimensions);
/// How many there are, at most `most` + 1.
std::size_t grid_size(const std::vector<Dimension>& dimensions, std::size_t most);

/// One value of each dimension, drawn independently.
Point drawn_point(const std::vector<Dimension>& dimensions, Random& random);

}  // namespace cohort
