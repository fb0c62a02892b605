#pragma once

#include <cstdint>

#include "executor/onednn/loops/vector.hpp"

namespace cohort::onednn {

/// sums[c] += of `rows` rows of `columns` adjoining elements, `distance` apart. Many rows are
/// summed in chunks, so that few digits are lost.
void add_columns(const float* x, std::int64_t rows, std::int64_t distance, std::int64_t columns, float* sums);

/// y += x, of adjoining elements.
void add_to(const float* x, std::int64_t count, float* y);

/// Sets to zero what lies behind a part of a pack that ends at `end`, up to where the next one begins.
void clear_behind(float* pack, std::int64_t end);

}  // namespace cohort::onednn
