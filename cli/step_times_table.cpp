#include "cli/step_times_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cohort {

Result<StepTimes> read_step_times(const std::filesystem::path& file, Console& console) {
  COHORT_TRY(StepTimes times, read_step_times(file));
  if (!times.unused.empty())
    console.note(fmt::format("{}: columns not used: {}", file.string(), fmt::join(times.unused, ", ")));
  return times;
}

}  // namespace cohort
