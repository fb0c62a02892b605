#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace cohort {

using OptionList = std::vector<const CLI::Option*>;

/// Options of a command by their names; each must be declared.
OptionList options_named(CLI::App& app, std::initializer_list<const char*> names);

/// Names of those that the user gave, in the order of the list.
std::vector<std::string> given(const OptionList& options);

/// For messages: "--fuse, --graphs".
std::string names_of(const std::vector<std::string>& names);

}  // namespace cohort
