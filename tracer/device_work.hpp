#pragma once

#include <string_view>

namespace cohort {

/// Argument of kernels, copies and memsets that a tool of the device's vendor recorded: which of the pieces of work
/// that were given with a label they belong to. Nodes of a graph keep that of their capture at every replay; the
/// "correlation" tells the replays apart.
inline constexpr std::string_view kWorkArg = "work id";
/// Argument by which recorded work in a measured trace names its task. The task itself has kTaskArg.
inline constexpr std::string_view kOfTaskArg = "of task";

}  // namespace cohort
