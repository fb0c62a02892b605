#pragma once

#include <span>

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// The plan with other groups: every convolution and matrix product that equal members can compute together (fuse()) is
/// fused, and so is any other op of which an operand is stacked already. The rest is concurrent.
Plan fuse_all(Plan plan, std::span<const Model* const> models);

}  // namespace cohort
