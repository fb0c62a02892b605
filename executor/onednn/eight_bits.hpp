#pragma once

#include "executor/onednn/implementation.hpp"
#include "executor/onednn/operands.hpp"

/// Products of 8-bit numbers in place of float32 ones, where EightBits says that operands hold such: x is copied as
/// uint8 in the workspace, w packed as int8, and sums are exact until they are rounded to float32. Only by instructions
/// that multiply without loss (VNNI and AMX): earlier ones sum two products in 16 bits, which is too few.
namespace cohort::onednn {

/// Of a convolution over one or two dimensions; none where w is computed, or images do not lie channels last, or
/// signals [N, C, L] channels first.
Implementations eight_bit_ways(const Convolution& op, const OpCall& call, const dnnl::engine& engine);

/// y [samples, outputs] = x w^T + b, w a constant of `outputs` rows.
struct EightBitRows {
  EightBits bits;
  std::int64_t samples, inputs, outputs;
  std::int64_t x_stride;  ///< between rows
  Descriptor y;
  Rearrange arrange;  ///< columns of w in the order in which a row of x lies
};
/// `present` is how operands of post-ops are given to a product of that shape.
Implementations eight_bit_ways(const EightBitRows& rows, const OpCall& call, const Presentation& present,
                               const dnnl::engine& engine);

}  // namespace cohort::onednn
