#include "cli/list_option.hpp"

#include <algorithm>
#include <charconv>

namespace cohort {

std::vector<std::string> parts_of_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    parts.emplace_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

Result<int> parse_count(const std::string& text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && last == end) return count;
  return fail(ErrorCode::kUsage, "'{}' is no whole number; write one, or several as 3,2", text);
}

}  // namespace cohort
