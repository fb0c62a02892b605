#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/op_layout.hpp"

namespace cohort {

/// Where padding takes the elements of y's axis `axis` from: by index in y, the index in x, whose axis has `extent`
/// elements; negative: from outside, which holds the pad's value. What negative padding cuts off is gone before the
/// rest is mirrored or repeated, as in ONNX Runtime.
std::vector<std::int64_t> padded_from(const Pad& pad, std::size_t axis, std::int64_t extent);

}  // namespace cohort
