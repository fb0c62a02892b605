#include "cli/given_options.hpp"

#include <fmt/ranges.h>

namespace cohort {

OptionList options_named(CLI::App& app, std::initializer_list<const char*> names) {
  OptionList found;
  for (const char* name : names) found.push_back(app.get_option(name));
  return found;
}

std::vector<std::string> given(const OptionList& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) {
    if (option->count() > 0) names.push_back(option->get_name());
  }
  return names;
}

std::string names_of(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

}  // namespace cohort
