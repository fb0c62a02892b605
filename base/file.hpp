#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

enum class Overwrite { kNever, kAllow };

/// The whole file as bytes. Errors: kInvalidInput naming the file and the system's reason.
Result<std::string> read_file(const std::filesystem::path& path);

/// Refuses early what write_file would refuse late: an existing file without kAllow, a folder that
/// is missing or not writable. Call before a long measurement.
Result<void> check_writable(const std::filesystem::path& path, Overwrite overwrite);

/// Writes the whole file or nothing: into a temporary beside it, flushed to disk, then renamed.
/// Errors: kInvalidInput naming the file (exists already, folder missing, disk full); no temporary
/// is left behind. Devices and pipes are written in place.
Result<void> write_file(const std::filesystem::path& path, std::string_view content, Overwrite overwrite);

}  // namespace cohort
