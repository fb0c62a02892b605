#pragma once

#include <stdexcept>
#include <string>

#include "models/compute/tensor_ref.hpp"

namespace cohort::reference {

/// Position that an index from -extent to extent - 1 means. Throws std::range_error.
inline std::int64_t checked_index(float element, std::int64_t extent) {
  const std::int64_t index = whole(element);
  if (index < -extent || index >= extent) {
    throw std::range_error("index " + std::to_string(index) + " is outside of an axis of " + std::to_string(extent));
  }
  return index < 0 ? index + extent : index;
}

}  // namespace cohort::reference
