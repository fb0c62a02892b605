#pragma once

#include "simulator/plan/program.hpp"

namespace cohort {

/// Whether the input takes the images of a folder: not settings of a member, such as a learning rate, and not labels,
/// which are integers.
inline bool takes_images(const ProgramInput& input) {
  return input.role == TensorRole::kInput && input.element == ElementType::kFloat32;
}

}  // namespace cohort
