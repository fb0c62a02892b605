#pragma once

#include "base/units.hpp"
#include "executor/clock.hpp"

namespace cohort {

/// Adds to a time for as long as it lives.
class Stopwatch {
 public:
  explicit Stopwatch(Nanoseconds& total) : total_(total), begin_(steady_now()) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() { total_ += steady_now() - begin_; }

 private:
  Nanoseconds& total_;
  Nanoseconds begin_;
};

}  // namespace cohort
