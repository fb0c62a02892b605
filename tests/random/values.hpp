#pragma once

#include <cstdint>
#include <vector>

#include "models/model.hpp"

namespace cohort {

/// Elements of several tensors.
using TensorValues = std::vector<std::vector<float>>;

/// Between -1 and 1, for each of the model's inputs.
TensorValues random_values(const Model& model, std::uint64_t seed);

/// Largest difference, in units of the largest value; infinite where one is no number and the other is.
double difference(const TensorValues& a, const TensorValues& b);

}  // namespace cohort
