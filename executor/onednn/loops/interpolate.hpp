#pragma once

#include "executor/onednn/loops/own_way.hpp"

namespace cohort::onednn {

/// A linear or cubic Resize without crop, of one axis after the other.
OwnWays interpolating_ways(const Resize& op, const OpCall& call, int threads);

}  // namespace cohort::onednn
