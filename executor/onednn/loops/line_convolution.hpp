#pragma once

#include "executor/onednn/loops/own_way.hpp"

namespace cohort::onednn {

/// Whether the processor's vector registers are many enough for two strips of kernels at a time: those of AVX-512.
bool has_many_registers();

/// Ways of convolutions along one dimension whose lines are dense and whose kernels are constants; empty for others.
OwnWays line_ways(const Convolution& op, const OpCall& call, int threads, bool many_registers);
OwnWays line_ways(const ConvTranspose& op, const OpCall& call, int threads, bool many_registers);

}  // namespace cohort::onednn
