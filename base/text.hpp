#pragma once

#include <string>
#include <string_view>

namespace cohort {

/// Of ASCII alone, whatever the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// ASCII letters in lower case, all else as it is.
inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace cohort
