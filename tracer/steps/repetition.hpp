#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cohort {

/// A stretch of a sequence that repeats with a period: values[i] == values[i + period] for every i
/// in [begin, end - period), as long as possible both ways, and end - begin >= 2 * period.
struct Repetition {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t period = 0;

  friend bool operator==(const Repetition&, const Repetition&) = default;
};

/// The longest repetition; of equally long ones the one with the shorter period, then the earlier.
/// Time: O(n log n). Absent where nothing stands beside its equal.
/// Source: Bannai et al., "The 'Runs' Theorem", SIAM J. Comput. 46(5), 2017: every maximal repetition
/// holds the longest Lyndon word that starts at some position, for one of two orders of the alphabet.
std::optional<Repetition> longest_repetition(std::span<const std::uint32_t> values);

}  // namespace cohort
