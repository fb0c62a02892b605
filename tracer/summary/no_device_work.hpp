#pragma once

#include <optional>
#include <string>

#include "tracer/trace.hpp"

namespace cohort {

/// Why a recording has no kernel, copy, memset or graph to predict from, and how to record them: "no device work in
/// this trace: 24 calls ...". Absent where it has some, and for Cohort's own traces of a CPU, whose tasks are the work.
/// Time: O(n), little where there is device work.
std::optional<std::string> no_device_work(const Trace& trace);

}  // namespace cohort
