#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "cli/console.hpp"
#include "simulator/colocation/step_times.hpp"

namespace cohort {

/// Reads a table of step times, and notes columns that are not used.
/// Errors: those of read_step_times() of a file alone.
Result<StepTimes> read_step_times(const std::filesystem::path& file, Console& console);

}  // namespace cohort
