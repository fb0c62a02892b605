#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace cohort {

/// The parts between ',' of a text; one where there is no ','.
std::vector<std::string> parts_of_list(std::string_view text);

/// Declares an option that takes a value, or several with ',' between them: "3", "3,2". Which number of them is right
/// its command knows. `names` as CLI::App::add_option() takes them; `parse` makes a Result<Value> of one value's text.
/// A text that it refuses is an error of the parser, which names the option.
template <class Value, class Parse>
CLI::Option* add_list_option(CLI::App& app, const std::string& names, std::vector<Value>& values, Parse parse,
                             const std::string& help) {
  const std::string name = names.substr(names.rfind(',') + 1);
  const auto take = [&values, parse, name](const CLI::results_t& given) {
    std::vector<Value> listed;
    for (const std::string& part : parts_of_list(given.front())) {
      Result<Value> value = parse(part);
      if (!value) throw CLI::ValidationError(name, value.error().message);
      listed.push_back(std::move(*value));
    }
    values = std::move(listed);
    return true;
  };
  return app.add_option(names, CLI::callback_t(take), help);
}

/// For add_list_option(): a whole number, whatever its range. Errors: kUsage.
Result<int> parse_count(const std::string& text);

}  // namespace cohort
