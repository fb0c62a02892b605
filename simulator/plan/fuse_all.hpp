#pragma once

#include <span>

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// The plan with other groups: every convolution and matrix product that equal members can compute together is fused,
/// and so is what lies between them as long as its operands are stacked already. The other ops are concurrent.
Plan fuse_all(Plan plan, std::span<const Model* const> models);

}  // namespace cohort
