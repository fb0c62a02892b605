#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cohort {

/// What is wrong with the text of a number that counts from 0, for CLI::Option::check(); empty: nothing. The parser
/// alone takes -1 for the largest number there is.
std::string is_whole_number(const std::string& text);

/// The same of NaN, which CLI::Range lets through: it lies outside of no limits. What is no number the parser finds.
std::string is_number(const std::string& text);

/// What is written into plans and traces, which are JSON, is UTF-8.
/// Errors: kUsage naming what it is: "--data photos: ..."
Result<void> check_utf8(std::string_view what, std::string_view text);

}  // namespace cohort
