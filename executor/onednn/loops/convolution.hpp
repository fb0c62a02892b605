#pragma once

#include "executor/onednn/loops/own_way.hpp"

/// Our own ways to run a convolution; empty where they do not take the call.
namespace cohort::onednn {

/// For few positions in y (few_positions.cpp).
OwnWays few_positions_ways(const Convolution& op, const OpCall& call, int threads);
/// For everything that the library has no kernel for (window_product.cpp).
OwnWays window_product_ways(const Convolution& op, const OpCall& call, int threads);

}  // namespace cohort::onednn
