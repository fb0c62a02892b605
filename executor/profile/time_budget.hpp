#pragma once

#include <algorithm>

#include "executor/clock.hpp"

namespace cohort {

/// How long something may take, from when this was made. Everything that is asked for fits into no budget at all.
class TimeBudget {
 public:
  explicit TimeBudget(Nanoseconds length) : begin_(steady_now()), end_(begin_ + length) {}

  [[nodiscard]] bool spent() const { return steady_now() >= end_; }
  [[nodiscard]] Nanoseconds left() const { return std::max(Nanoseconds(0), end_ - steady_now()); }
  /// A budget that ends when this one does, or once `part` of what is left has passed.
  [[nodiscard]] TimeBudget part(double part) const {
    return TimeBudget(Nanoseconds(static_cast<std::int64_t>(part * static_cast<double>(left().count()))));
  }

 private:
  Nanoseconds begin_;
  Nanoseconds end_;
};

}  // namespace cohort
