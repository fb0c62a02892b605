#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cohort {

enum class Overwrite { kNever, kAllow };

/// The whole file as bytes. Errors: kInvalidInput naming the file and the system's reason.
Result<std::string> read_file(const std::filesystem::path& path);

/// Refuses early what write_file would refuse late: an existing file without kAllow, a folder that
/// is missing or not writable. Call before a long measurement.
Result<void> check_writable(const std::filesystem::path& path, Overwrite overwrite);

/// Writes the whole file, where a link leads, or nothing: into a temporary beside it, renamed. Its permissions stay.
/// Errors: kInvalidInput naming the file (exists already, folder missing, disk full); no temporary is left behind.
/// Devices, pipes and what is open already, as /dev/stdout may be, are written in place.
Result<void> write_file(const std::filesystem::path& path, std::string_view content, Overwrite overwrite);

/// Folders made for files; those that are still empty in the end are removed again.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  ~MadeFolders();

  /// With what is missing above it. Errors: kInvalidInput naming the folder.
  Result<void> make(const std::filesystem::path& folder);

 private:
  std::vector<std::filesystem::path> made_;  ///< parents first
};

struct TemporaryName;

/// Files that belong together: all are written, or none is and those that were there stay as they were. Each lies in a
/// temporary beside its place, so that a full disk is met early, until commit() puts all in their places. What was not
/// committed is removed.
class PendingFiles {
 public:
  explicit PendingFiles(Overwrite overwrite) : overwrite_(overwrite) {}
  PendingFiles(const PendingFiles&) = delete;
  PendingFiles& operator=(const PendingFiles&) = delete;
  ~PendingFiles();

  /// As MadeFolders::make(); removed again where it holds no file in the end.
  Result<void> make_folder(const std::filesystem::path& folder) { return folders_.make(folder); }
  /// Errors: those of write_file(); kInvalidInput where a file of that name was added before and must not be
  /// overwritten. What goes to devices and pipes is kept until commit().
  Result<void> add(const std::filesystem::path& path, std::string_view content);
  /// Errors: kInvalidInput naming the file. Those before it are in their places only where the system refused the
  /// renaming itself, never for want of room.
  Result<void> commit();

 private:
  struct File {
    std::filesystem::path path;
    TemporaryName* temporary = nullptr;  ///< null: a device
    std::string content;                 ///< for a device
  };
  MadeFolders folders_;
  Overwrite overwrite_;
  std::vector<File> files_;
  std::set<std::filesystem::path> names_;  ///< all that were added
};

/// Removes the temporaries of every PendingFiles of this process. Async-signal-safe; only for a program that ends now.
void remove_temporaries() noexcept;

}  // namespace cohort
