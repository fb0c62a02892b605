#include "tracer/file/json_repair.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace cohort {
namespace {

/// Calls `visit(position)` for every byte outside strings; returns false where the text ends in one.
template <class Visit>
bool outside_strings(std::string_view text, const Visit& visit) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '"') {
      if (!visit(i)) return true;
      continue;
    }
    for (++i; i < text.size() && text[i] != '"'; ++i) {
      if (text[i] == '\\') ++i;
    }
    if (i >= text.size()) return false;
  }
  return true;
}

}  // namespace

std::optional<CutText> find_cut(std::string_view text) {
  std::string open;
  CutText cut;
  bool balanced = true;
  const bool ended = outside_strings(text, [&](std::size_t i) {
    const char c = text[i];
    if (c == '[' || c == '{') open += c == '[' ? ']' : '}';
    if (c == ']' || c == '}') {
      balanced = !open.empty() && open.back() == c;
      if (!balanced) return false;
      open.pop_back();
    }
    // Elements of a list at the top or one level down: a cut inside an event loses that event only.
    const bool whole_here = open.size() == 1 || (open.size() == 2 && open.back() == ']');
    if (whole_here && (c == ',' || c == '[' || c == ']' || c == '}')) {
      cut.whole = c == ',' ? i : i + 1;
      cut.closers.assign(open.rbegin(), open.rend());
    }
    return true;
  });
  if (!balanced || (ended && open.empty()) || cut.whole == 0) return std::nullopt;
  return cut;
}

bool close_cut_text(PaddedBytes& bytes) {
  const auto cut = find_cut(bytes.view());
  if (!cut) return false;
  if (cut->whole + cut->closers.size() > bytes.capacity()) bytes.grow(cut->whole + cut->closers.size());
  std::memcpy(bytes.data() + cut->whole, cut->closers.data(), cut->closers.size());
  bytes.set_size(cut->whole + cut->closers.size());
  return true;
}

std::size_t blank_trailing_commas(PaddedBytes& bytes) {
  const std::string_view text = bytes.view();
  std::size_t comma = text.size();  // the end: none
  std::size_t blanked = 0;
  outside_strings(text, [&](std::size_t i) {
    const char c = text[i];
    if (c == ',') {
      comma = i;
    } else if (c == ']' || c == '}') {
      if (comma < i && text.find_first_not_of(" \t\r\n", comma + 1) == i) {
        bytes.data()[comma] = ' ';
        ++blanked;
      }
      comma = text.size();
    }
    return true;
  });
  return blanked;
}

std::string describe_position(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const std::size_t line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  return fmt::format("line {}, byte {}", line, position + 1);
}

std::int64_t replace_invalid_utf8(PaddedBytes& bytes) {
  char* const data = bytes.data();
  const std::size_t size = bytes.size();
  std::int64_t replaced = 0;
  const auto continues = [&](std::size_t i) {
    return i < size && (static_cast<unsigned char>(data[i]) & 0xC0U) == 0x80U;
  };
  for (std::size_t i = 0; i < size;) {
    const auto byte = static_cast<unsigned char>(data[i]);
    const std::size_t length = byte < 0x80                   ? 1
                               : byte >= 0xF0 && byte < 0xF5 ? 4
                               : byte >= 0xE0 && byte < 0xF0 ? 3
                               : byte >= 0xC2 && byte < 0xE0 ? 2
                                                             : 0;
    bool valid = length > 0;
    for (std::size_t k = 1; k < length && valid; ++k) valid = continues(i + k);
    valid = valid && (length == 1 || simdjson::validate_utf8(data + i, length));
    if (!valid) {
      data[i] = '?';
      ++replaced;
    }
    i += valid ? length : 1;
  }
  return replaced;
}

}  // namespace cohort
