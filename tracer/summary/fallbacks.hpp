#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// Ops that run on plain loops because neither a library nor vectorised loops take their form.
struct Fallbacks {
  struct Op {
    std::string name;
    Nanoseconds time{};  ///< in a step, of all members
  };
  std::vector<Op> ops;  ///< the longest first
  Nanoseconds all{};    ///< time of all ops in a step

  /// Of all ops' time, 0 to 1.
  [[nodiscard]] double part() const;
};

/// In a profile each op in the fastest way that was timed for it, alone and where it stands in the model; in predicted
/// and measured traces of plans the ops as they ran. None in other traces, and on a device that has plain loops only.
Fallbacks find_fallbacks(const Trace& trace);

/// "12% of the ops' time is spent on plain loops: rnn/LSTM (258 us), Pow (5.4 us) and 2 more"; empty if there are none.
std::string format_fallbacks(const Fallbacks& fallbacks, std::size_t most = 3);

}  // namespace cohort
