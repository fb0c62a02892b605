#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace cohort {

/// Limits what the "count", the "each" and the ranges of a small plan file may expand to.
class Allowance {
 public:
  /// Errors: kInvalidInput naming the field, where `count` more copies of `text` bytes each are too many.
  Result<void> copy(std::size_t count, std::size_t text, const std::string& field) {
    const std::size_t each = text + kEntry;
    if (count > left_ / each)
      return fail(ErrorCode::kInvalidInput, "{}: {} copies of {} bytes; a plan holds at most {} in all", field, count,
                  each, kMost);
    left_ -= count * each;
    return {};
  }
  /// Errors: likewise, where so many more positions of members are too many.
  Result<void> list(std::size_t positions, const std::string& field) {
    if (positions > left_ / kPosition)
      return fail(ErrorCode::kInvalidInput, "{}: {} positions; a plan's groups hold at most {} in all", field,
                  positions, kMost / kPosition);
    left_ -= positions * kPosition;
    return {};
  }

 private:
  static constexpr std::size_t kPosition = 32;
  static constexpr std::size_t kEntry = 64;
  static constexpr std::size_t kMost = std::size_t{1} << 28;
  std::size_t left_ = kMost;
};

}  // namespace cohort
