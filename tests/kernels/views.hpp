#pragma once

#include <cstdint>
#include <vector>

#include "call_runner.hpp"

namespace cohort::testing {

/// Row-major views of one buffer, as parts of a pack are: each begins where `place` says.
View packed(std::uint32_t buffer, std::int64_t place, const Shape& shape);
/// Those of `models` members, [M, shape...], whose packs lie `row` elements apart.
View stacked(std::uint32_t buffer, std::int64_t place, std::int64_t models, const Shape& shape, std::int64_t row);

/// Whole numbers by their bits.
std::vector<float> whole_numbers(const std::vector<std::int32_t>& values);

/// The call with its one output dense in NHWC, in buffer `output`, its shape inferred.
OpCall with_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                   std::vector<PostOp> post_ops = {});
/// ... or row-major, from element `place` of the buffer on.
OpCall with_packed_output(OpAttributes attributes, std::vector<Operand> inputs, std::uint32_t output,
                          std::int64_t place = 0);

/// Numbers between which a function and its slope are numbers, none of them much larger than the others: what `usual`
/// says, or a part of it or another range where the function asks for it.
struct Range {
  float low = -1, high = 1;
};
Range range_of(ActivationKind kind, Range usual);

Window square_window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1);

}  // namespace cohort::testing
