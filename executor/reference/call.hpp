#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "simulator/plan/program.hpp"

/// What holds for every OpCall, whatever device runs it.
namespace cohort {

const Shape& shape_of(const Operand& operand);

/// Inputs of the op itself, without those that only an AddOperand post-op reads; they stand last.
/// Tells a bias from a residual: a Convolution or Gemm has a bias if this is 3.
std::size_t own_input_count(const OpCall& call);

/// Errors: kInvalidInput naming the op where operands are missing or their shapes do not fit.
Result<void> check_call(const OpCall& call);

/// `weights` as HostKernels::prepare() gets them. Errors: kInvalidInput naming the op where one is
/// missing or has another number of values than its shape.
Result<void> check_weights(const OpCall& call, std::span<const std::vector<float>> weights);

}  // namespace cohort
