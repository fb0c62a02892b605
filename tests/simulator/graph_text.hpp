#pragma once

#include <string>
#include <string_view>

#include "simulator/engine/simulate.hpp"

namespace cohort {

/// A task graph from a drawing, one line per resource, then one per edge; times in nanoseconds:
///
///     s0: a 10, b 5x2        resource s0 runs a (10 ns on one core), then b (5 ns on two)
///     worker w: c 7x0        "worker" before the name makes a decode worker; x0 asks for no core
///     a -> c +2              c starts 2 ns or more after the end of a
///     ^a -> c                c starts no earlier than a starts
TaskGraph graph_from(std::string_view text);

/// "a 0-10\nb 10-15\n", in order of id.
std::string timeline(const TaskGraph& graph, const Schedule& schedule);

/// Simulates on `cores` cores and returns the timeline, or the error's message.
std::string timeline_of(std::string_view text, int cores);
std::string timeline_of(std::string_view text, const DeviceProfile& device);

}  // namespace cohort
