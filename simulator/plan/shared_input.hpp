#pragma once

#include <cstddef>
#include <string>
#include <tuple>

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// Inputs of several members that are one where input is shared: position, name, shape and type of elements.
using SharedInput = std::tuple<std::size_t, std::string, Shape, ElementType>;

/// Of the `position`-th input of a member. Where arrays are read, each is for inputs of its name, wherever they stand;
/// else names do not matter.
inline SharedInput shared_input(const Plan& plan, std::size_t position, const Tensor& tensor) {
  if (plan.input.source == InputSource::kArrays) return {0, tensor.name, tensor.shape, tensor.element};
  return {position, "", tensor.shape, tensor.element};
}

}  // namespace cohort
