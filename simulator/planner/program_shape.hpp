#pragma once

#include <cstdint>
#include <vector>

#include "simulator/plan/program.hpp"

namespace cohort {

/// How the steps of a program run: for each step its stream, strategy, multiprocessors, number of dependencies, and
/// dependencies. Two programs with the same tasks and the same algorithms (Resolved::steps) are equal exactly if these
/// are equal, too.
using ProgramShape = std::vector<std::uint32_t>;

ProgramShape shape_of(const Program& program);

}  // namespace cohort
