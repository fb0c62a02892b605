#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "view/chart/drawing.hpp"

namespace cohort {
namespace {

constexpr std::string_view kEllipsis = "\u2026";

/// One character of UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool whole = true;  ///< false: a byte that starts no character
};

Character character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 && first < 0xf5   ? 4
                            : first >= 0xe0 && first < 0xf0 ? 3
                            : first >= 0xc2 && first < 0xe0 ? 2
                                                            : 1;
  if (bytes == 1 || at + bytes > text.size()) return {first, 1, false};
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xc0U) != 0x80U) return {first, 1, false};
    code = (code << 6) | (byte(at + i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool valid = code >= kLeast[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return valid ? Character{code, bytes, true} : Character{first, 1, false};
}

/// Widths of DejaVu Sans, one of the widest families, in thousandths of its size.
constexpr int width_of(std::uint32_t code) {
  // " " to "~"
  constexpr std::uint16_t kAscii[] = {318,  401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
                                      636,  636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
                                      1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
                                      603,  787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
                                      500,  613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
                                      635,  635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838};
  if (code >= 0x20 && code < 0x7f) return kAscii[code - 0x20];
  if (code < 0x20) return 0;
  if (code == 0x2026) return 1000;
  return code >= 0x2e80 ? 1000 : 700;
}

std::vector<std::size_t> starts_of(std::string_view text) {
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < text.size(); at += character_at(text, at).bytes) starts.push_back(at);
  starts.push_back(text.size());
  return starts;
}

}  // namespace

double text_width(std::string_view text, double size, bool bold) {
  int thousandths = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    thousandths += width_of(character.code);
    at += character.bytes;
  }
  return thousandths / 1000.0 * size * (bold ? 1.12 : 1.0);
}

std::string elide(std::string_view text, double width, double size) {
  if (text_width(text, size) <= width) return std::string(text);
  const std::vector<std::size_t> starts = starts_of(text);
  const std::size_t characters = starts.size() - 1;
  std::string best;
  std::size_t low = 0;  // characters kept
  std::size_t high = characters;
  while (low < high) {
    const std::size_t kept = (low + high) / 2;
    const std::size_t front = (kept + 1) / 2;
    std::string tried(text.substr(0, starts[front]));
    tried += kEllipsis;
    tried += text.substr(starts[characters - (kept - front)]);
    if (text_width(tried, size) <= width) {
      best = std::move(tried);
      low = kept + 1;
    } else {
      high = kept;
    }
  }
  return best;
}

std::vector<std::string> wrap(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  std::string current;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::string longer = current.empty() ? std::string(word) : current + " " + std::string(word);
    if (current.empty() || text_width(longer, size) <= width) {
      current = longer;
    } else {
      lines.push_back(std::move(current));
      current = word;
    }
  }
  if (!current.empty()) lines.push_back(std::move(current));
  return lines;
}

std::string escape_xml(std::string_view text) {
  constexpr std::string_view kReplacement = "\ufffd";
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::string_view bytes = text.substr(at, character.bytes);
    at += character.bytes;
    const std::uint32_t code = character.code;
    const bool control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
    if (!character.whole || control || code == 0xfffe || code == 0xffff)
      out += kReplacement;
    else if (code == '&')
      out += "&amp;";
    else if (code == '<')
      out += "&lt;";
    else if (code == '>')
      out += "&gt;";
    else if (code == '"')
      out += "&quot;";
    else if (code == '\'')
      out += "&#39;";
    else
      out += bytes;
  }
  return out;
}

}  // namespace cohort
