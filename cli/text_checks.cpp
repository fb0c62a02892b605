#include "cli/text_checks.hpp"

#include <simdjson.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace cohort {

std::string is_whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && last == end) return {};
  return fmt::format("'{}' is no whole number from 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
}

std::string is_number(const std::string& text) {
  return std::isnan(std::strtod(text.c_str(), nullptr)) ? fmt::format("'{}' is no number", text) : std::string();
}

Result<void> check_utf8(std::string_view what, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return {};
  return fail(ErrorCode::kUsage, "{} {}: the name is not UTF-8, as plans and traces need it; rename it", what, text);
}

}  // namespace cohort
