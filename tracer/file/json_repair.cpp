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

class StringRepair {
 public:
  explicit StringRepair(PaddedBytes& bytes) : bytes_(bytes), text_(bytes.view()) {}

  std::int64_t run() {
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '"') {
        i = pass_string(i);
      } else if (c == '{' || c == '[') {
        open_ += c;
        before_ = c;
      } else if (c == '}' || c == ']') {
        if (!open_.empty()) open_.pop_back();
        before_ = c;
      } else if (c == ',' || c == ':') {
        before_ = c;
      }
    }
    return repaired_;
  }

 private:
  /// From a string's opening quote to its closing one.
  std::size_t pass_string(std::size_t opening) {
    for (std::size_t i = opening + 1; i < text_.size(); ++i) {
      if (text_[i] == '\\') {
        ++i;
      } else if (text_[i] == '"') {
        if (is_closing(i)) return i;
        replace(i, '\'');
      } else if (static_cast<unsigned char>(text_[i]) < 0x20) {
        replace(i, '?');
      }
    }
    return text_.size();
  }

  [[nodiscard]] bool is_closing(std::size_t quote) const {
    const bool in_object = !open_.empty() && open_.back() == '{';
    const std::size_t next = visible(quote + 1);
    if (next == text_.size()) return true;
    if (in_object && before_ != ':') return true;  // of a key, which tools choose themselves
    const std::size_t after = visible(next + 1);
    if (text_[next] == (in_object ? '}' : ']'))
      return after == text_.size() || std::string_view(",]}").find(text_[after]) != std::string_view::npos;
    return text_[next] == ',' && (!in_object || is_key(after));
  }

  [[nodiscard]] bool is_key(std::size_t quote) const {
    if (quote >= text_.size() || text_[quote] != '"') return quote >= text_.size();
    const std::size_t closing = text_.find('"', quote + 1);
    const std::size_t next = closing == std::string_view::npos ? text_.size() : visible(closing + 1);
    return next == text_.size() || text_[next] == ':';
  }

  /// The next character that is no white space, or the end.
  [[nodiscard]] std::size_t visible(std::size_t from) const {
    return std::min(text_.find_first_not_of(" \t\r\n", from), text_.size());
  }

  void replace(std::size_t at, char by) {
    bytes_.data()[at] = by;
    ++repaired_;
  }

  PaddedBytes& bytes_;
  std::string_view text_;
  std::string open_;   ///< brackets around
  char before_ = ' ';  ///< the last of brackets, commas and colons
  std::int64_t repaired_ = 0;
};

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

std::int64_t repair_strings(PaddedBytes& bytes) { return StringRepair(bytes).run(); }

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
