#pragma once

#include <cmath>

#include "models/compute/tensor_ref.hpp"

/// What normalisations and their gradients share.
namespace cohort::reference {

/// Calls visit(x lane, y lane) for every line of elements along `axis`.
template <class Visit>
void for_each_lane(const ConstTensor& x, const Tensor& y, std::size_t axis, Visit visit) {
  for_each_index<2>(without(y.shape, axis), {without(x.strides, axis), without(y.strides, axis)},
                    [&](const auto& at) { visit(x.data + at[0], y.data + at[1]); });
}

/// Mean, 1/sqrt(variance + epsilon) and variance of the elements that `shape` and `strides` reach from `first`. Not
/// `centred`: as if the mean were 0.
struct Statistics {
  double mean = 0, scale = 1, variance = 0;
};
inline Statistics statistics(const float* first, const Shape& shape, const Shape& strides, float epsilon,
                             bool centred = true) {
  double sum = 0;
  std::int64_t count = 0;
  for_each_index<1>(shape, {strides}, [&](const auto& at) {
    sum += static_cast<double>(first[at[0]]);
    ++count;
  });
  const double mean = centred ? sum / static_cast<double>(count) : 0;
  double squares = 0;
  for_each_index<1>(shape, {strides}, [&](const auto& at) {
    const double distance = static_cast<double>(first[at[0]]) - mean;
    squares += distance * distance;
  });
  const double variance = squares / static_cast<double>(count);
  return {mean, 1 / std::sqrt(variance + static_cast<double>(epsilon)), variance};
}

/// Axes from `axis` on, or with `before` those before it.
inline Shape part(const Shape& all, std::size_t axis, bool before) {
  const auto split = all.begin() + static_cast<std::ptrdiff_t>(axis);
  return before ? Shape(all.begin(), split) : Shape(split, all.end());
}

}  // namespace cohort::reference
