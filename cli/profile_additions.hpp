#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "cli/command.hpp"

namespace cohort {

/// `cohort profile --add`: more timings for profiles that are there.
struct ProfileAdditionOptions {
  std::vector<std::filesystem::path> profiles;  ///< of all models of the plans
  std::vector<std::filesystem::path> plans;     ///< whose calls are to be timed
  std::optional<double> budget;                 ///< seconds, for each profile
};

/// Times the calls that predictions of the plans interpolate or estimate, and adds them to the profiles in place.
/// Errors: kDeviceMissing where the profiled device is not here; kInvalidInput naming the file or op.
Result<void> add_to_profiles(const ProfileAdditionOptions& options, CommandContext& context);

}  // namespace cohort
