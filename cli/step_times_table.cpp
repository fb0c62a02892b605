#include "cli/step_times_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.hpp"

namespace cohort {

Result<StepTimes> read_step_times(const std::filesystem::path& file, Console& console) {
  COHORT_TRY(const std::string text, read_file(file));
  auto times = parse_step_times(text);
  if (!times) return in_context(file.string(), times.error());
  if (!times->unused.empty())
    console.note(fmt::format("{}: columns not used: {}", file.string(), fmt::join(times->unused, ", ")));
  return times;
}

}  // namespace cohort
