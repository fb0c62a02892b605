#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// The manual page of a command in section 1, in roff's man macros: what its --help says, from the same declarations.
/// `path` is what is typed, "cohort trace info"; the page is then called cohort-trace-info.
std::string man_page(const CLI::App& app, const std::string& path, std::string_view version);

/// Writes cohort.1 and a page for each command below it into a folder, over those that are there.
/// Errors: those of write_file(), the first of them.
Result<void> write_man_pages(const CLI::App& root, const std::filesystem::path& folder, std::string_view version);

}  // namespace cohort
