#include "view/timeline/names.hpp"

#include <algorithm>

namespace cohort {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '~';
}

/// End of the bracket that opens at `at`.
std::size_t past_bracket(std::string_view text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '<' || text[at] == '(') ++depth;
    if ((text[at] == '>' || text[at] == ')') && --depth == 0) return at + 1;
  }
  return text.size();
}

}  // namespace

std::string_view short_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string_view rest = name;
  if (rest.starts_with("void ")) rest.remove_prefix(5);
  std::string_view last;
  while (!rest.empty()) {
    if (rest.starts_with(kAnonymous)) {
      rest.remove_prefix(kAnonymous.size());
    } else {
      const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
      const auto length = static_cast<std::size_t>(end - rest.begin());
      if (length == 0) return name;
      last = rest.substr(0, length);
      rest.remove_prefix(length);
      if (rest.starts_with('<')) rest.remove_prefix(past_bracket(rest, 0));
    }
    if (rest.starts_with("::")) {
      rest.remove_prefix(2);
      continue;
    }
    break;
  }
  // A function ends here or goes on with what it takes.
  if (last.empty() || (!rest.empty() && !rest.starts_with('('))) return name;
  if (rest.starts_with('(') && past_bracket(rest, 0) != rest.size()) return name;
  return last;
}

std::string shortened(std::string_view name, std::size_t most) {
  std::string text(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  constexpr std::string_view kDots = "...";
  if (text.size() <= most || most <= kDots.size()) return text;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; };
  std::size_t head = (most - kDots.size()) * 2 / 3;
  while (head > 0 && is_inside(head)) --head;
  std::size_t tail = text.size() - (most - kDots.size() - head);
  while (tail < text.size() && is_inside(tail)) ++tail;
  return text.substr(0, head).append(kDots).append(text.substr(tail));
}

}  // namespace cohort
