#pragma once

#include <vector>

#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// By which members of one model can compute the op together.
std::vector<Strategy> strategies_for(const Model& model, const Op& op, bool on_gpu);

}  // namespace cohort
