#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace cohort {

/// Follows slices given by start, outer ones first, and tells for each the innermost earlier one that holds it.
/// Time for each: O(1) where slices nest, else O(those open at once).
template <class Payload>
class Nesting {
 public:
  /// Null where nothing open holds [start, end). The pointer lives until the next call.
  Payload* holder_of(Nanoseconds start, Nanoseconds end) {
    while (!open_.empty() && open_.back().end <= start) open_.pop_back();
    if (open_.empty()) return nullptr;
    if (open_.back().end >= end) return &open_.back().payload;
    // It outlives the last one. Those under it may have ended: they would pile up.
    open_.erase(std::remove_if(open_.begin(), open_.end(), [&](const Open& open) { return open.end <= start; }),
                open_.end());
    for (auto open = open_.rbegin(); open != open_.rend(); ++open) {
      if (open->end >= end) return &open->payload;
    }
    return nullptr;
  }
  void open(Nanoseconds end, Payload payload) { open_.push_back({end, std::move(payload)}); }

 private:
  struct Open {
    Nanoseconds end{};
    Payload payload;
  };
  std::vector<Open> open_;
};

}  // namespace cohort
