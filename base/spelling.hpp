#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// The known word that `word` was most likely meant to be: fewest letters to change, at most a third of them; the first
/// of equally near ones. Letters that changed places count as one. O(known * length^2).
std::optional<std::string_view> nearest_word(std::string_view word, std::span<const std::string_view> known);

/// What to say about a word that is none of the known ones: "did you mean \"epochs\"?", or all of them: "known are a,
/// b".
std::string known_words(std::string_view word, std::span<const std::string_view> known);

/// The text as one word of a shell's command: in single quotes, unless letters, digits and _./:- are all that it has.
std::string as_shell_word(const std::string& text);

}  // namespace cohort
