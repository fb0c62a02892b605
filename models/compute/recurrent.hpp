#pragma once

#include <vector>

#include "models/compute/ops.hpp"

/// What recurrent layers and their gradients share.
namespace cohort::reference {

using Values = std::vector<double>;

double apply(const Gate& gate, double x);
/// The functions of one direction, the usual ones where none are named.
std::vector<Gate> gates_of(const Recurrent& op, std::int64_t direction);

/// Where the optional inputs stand; null: not given.
struct Optionals {
  const ConstTensor* lengths = nullptr;
  const ConstTensor* state = nullptr;
  const ConstTensor* cell = nullptr;
  const ConstTensor* peepholes = nullptr;
};
Optionals optionals_of(const Recurrent& op, Inputs inputs);
/// Steps of sample `sample`, of `steps`.
std::int64_t length_of(const Optionals& optionals, std::int64_t sample, std::int64_t steps);

}  // namespace cohort::reference
