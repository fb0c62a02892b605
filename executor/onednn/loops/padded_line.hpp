#pragma once

#include <cstdint>

namespace cohort::onednn {

/// Elements in a row, `step` apart; null: zeros.
struct PaddedLine {
  const float* data;
  std::int64_t length;
  std::int64_t step = 1;
};

/// Copies `count` elements, every stride-th from `first` on, which may lie before the line; zeros for what is outside.
void copy_padded(const PaddedLine& line, std::int64_t first, std::int64_t stride, std::int64_t count, float* to);

}  // namespace cohort::onednn
