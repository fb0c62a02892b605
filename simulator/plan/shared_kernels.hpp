#pragma once

#include <span>

#include "simulator/plan/program.hpp"

namespace cohort {

/// Finds steps that run the same call with the same weights as an earlier step of their stream, and says so in
/// Step::same_kernel_as: unrolled loops and networks that use a layer several times have many. `models` are the
/// members' own.
void share_kernels(Program& program, std::span<const Model* const> models);

}  // namespace cohort
