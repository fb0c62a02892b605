#pragma once

#include <cstdint>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// How the steps of a program run: by step its stream, its strategy, the multiprocessors it is made for, and the
/// steps it waits for, with their count before them. Two programs of the same tasks in the same ways of running them
/// (Resolved::steps) are the same exactly where these are equal, too.
using ProgramShape = std::vector<std::uint32_t>;

ProgramShape shape_of(const Program& program);

}  // namespace cohort
