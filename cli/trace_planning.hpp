#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/step_options.hpp"
#include "tracer/trace.hpp"

namespace cohort {

/// What `cohort plan` was asked of traces of runs; absent: not given.
struct TracePlanningOptions {
  std::vector<std::filesystem::path> files;
  std::vector<int> models{1};  ///< one number for all files, or one for each
  std::optional<int> buffers, launch_threads;
  bool shared_input = false;
  std::vector<std::string> limits;  ///< memory=8GiB
  std::filesystem::path device_profile;
  std::size_t rows = 10;
  bool explain = false;
  std::filesystem::path output;  ///< of the best's predicted trace; NAME.predicted.json.gz where empty
};

/// Ranks ways to run the steps of traced programs together and writes the predicted trace of the best. There is no
/// plan to write: the program is another's.
/// `first`: the first file's trace; `steps` by file. Errors: those of rank_what_ifs() and select_replay_step(); kUsage
/// for a limit that traces have nothing to say of.
Result<void> plan_traces(const TracePlanningOptions& options, Trace first, const std::vector<StepOptions>& steps,
                         CommandContext& context);

}  // namespace cohort
