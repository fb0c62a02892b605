#pragma once

#include <vector>

namespace cohort {

/// Elements of several tensors.
using TensorValues = std::vector<std::vector<float>>;

/// Largest difference, in units of the largest value; infinite where one is no number and the other is.
double difference(const TensorValues& a, const TensorValues& b);

}  // namespace cohort
