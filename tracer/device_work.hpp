#pragma once

#include <string_view>

namespace cohort {

/// Argument of kernels, copies and memsets recorded by a vendor's tool: the id of the labelled work that they belong
/// to. Graph nodes keep the id of their capture at every replay; the argument "correlation" distinguishes replays.
inline constexpr std::string_view kWorkArg = "work id";
/// Argument by which recorded work in a measured trace names its task. The task itself has kTaskArg.
inline constexpr std::string_view kOfTaskArg = "of task";

}  // namespace cohort
