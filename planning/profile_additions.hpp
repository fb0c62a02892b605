#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "base/result.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {

/// More timings for profiles that are there.
struct ProfileAdditionOptions {
  std::vector<std::filesystem::path> profiles;  ///< of all models of the plans
  std::vector<std::filesystem::path> plans;     ///< whose calls are to be timed
  std::optional<double> budget;                 ///< seconds, for each profile
  TraceReadOptions read;
  std::function<void(const std::string&)> progress;  ///< gets what is timed next
};

/// What came of one profile.
struct ProfileAddition {
  std::filesystem::path file;
  std::size_t wanted = 0;           ///< calls of the plans that were not in it
  std::size_t without_time = 0;     ///< of these not tried: the budget was at its end
  std::size_t records = 0;          ///< timings added
  std::vector<std::string> failed;  ///< calls that could not be timed, and why
};

/// Times the calls that predictions of the plans interpolate or estimate, and adds them to the profiles in place. Once
/// cancelled it returns what was added until then.
/// Errors: kDeviceMissing where the profiled device is not here; kInvalidInput naming the file or op.
Result<std::vector<ProfileAddition>> add_to_profiles(const ProfileAdditionOptions& options, const CancelToken& cancel);

}  // namespace cohort
