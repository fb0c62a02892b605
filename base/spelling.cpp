#include "base/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.hpp"

namespace cohort {
namespace {

/// Letters to insert, leave out, change or swap with their neighbour.
/// Source: Damerau, CACM 7 (1964), restricted to changes that do not overlap.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // what is longer was no word
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  const std::string lower = to_lower(word);
  for (const std::string_view candidate : known) {
    const std::size_t changes = distance(lower, to_lower(candidate));
    if (changes >= least) continue;
    least = changes;
    nearest = candidate;
  }
  return nearest;
}

std::string as_shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_./:-").find(letter) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string known_words(std::string_view word, std::span<const std::string_view> known) {
  if (const auto nearest = nearest_word(word, known)) return fmt::format("did you mean \"{}\"?", *nearest);
  return fmt::format("known are {}", fmt::join(known, ", "));
}

}  // namespace cohort
