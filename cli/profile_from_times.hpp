#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "cli/command.hpp"
#include "models/source.hpp"

namespace cohort {

/// A profile of a model on a GPU that is not here, from times of whole steps.
struct ProfileFromTimesOptions {
  const CLI::Option* option = nullptr;  ///< whether it was asked for
  std::filesystem::path times;          ///< a table as `cohort colocate` reads
  std::string gpu;                      ///< a file or a name
  std::string copied{"0"};              ///< bytes of input that a sample copies in every step

  [[nodiscard]] bool is_given() const { return option != nullptr && option->count() > 0; }
};

void add_times_options(CLI::App& app, ProfileFromTimesOptions& options);

/// `precision` and `layout` may be empty: float32, and as usual.
/// Errors: those of the table, of the GPU's figures and of profile_of_times(), naming the file.
Result<void> profile_from_times(const ProfileFromTimesOptions& options, const ModelSource& source, std::uint64_t seed,
                                const std::string& precision, const std::string& layout,
                                const std::filesystem::path& output, CommandContext& context);

}  // namespace cohort
