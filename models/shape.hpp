#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// Extents of a tensor in logical order; images are [N, C, H, W] whatever the layout in memory.
using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar. Stops at the largest std::int64_t.
std::int64_t element_count(const Shape& shape);
/// Errors: kInvalidInput for an extent below `least` or more than 2^40 elements.
Result<void> check_shape(const Shape& shape, std::int64_t least = 1);
/// "[16, 3, 227, 227]"
std::string to_string(const Shape& shape);

/// What the elements of a tensor are. Every element takes 32 bits: whole numbers of any width and
/// truth values (0 or 1) are carried as 32-bit integers in the same memory as float32, by their bits.
/// Values that do not fit are refused where they come in, and stop a step where they come about.
enum class ElementType { kFloat32, kInt32 };
std::string_view to_string(ElementType type);

}  // namespace cohort
