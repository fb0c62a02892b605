#include "tracer/file/compact_json.hpp"

#include <cstddef>

#include "base/text.hpp"

namespace cohort {
namespace {

constexpr std::size_t kMostDepth = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Walks a JSON text once; what is open stands in `closers_`.
class Compactor {
 public:
  Compactor(std::string& out, std::string_view text) : out_(out), text_(text) {}

  bool run() {
    bool valid = value();
    while (valid && !closers_.empty()) valid = after_value();
    skip_space();
    return valid && at_ == text_.size();
  }

 private:
  /// A scalar, or the start of a list or object up to its first scalar.
  bool value() {
    for (;;) {
      skip_space();
      if (ended()) return false;
      const char c = text_[at_];
      if (c == '"') return string();
      if (c == '-' || is_digit(c)) return number();
      if (c != '[' && c != '{') return literal("true") || literal("false") || literal("null");
      if (closers_.size() == kMostDepth) return false;
      take();
      closers_ += c == '[' ? ']' : '}';
      skip_space();
      if (!ended() && text_[at_] == closers_.back()) {
        close();
        return true;
      }
      if (c == '{' && !key()) return false;
    }
  }

  /// What may follow a value inside a list or object.
  bool after_value() {
    skip_space();
    if (ended()) return false;
    if (text_[at_] == closers_.back()) {
      close();
      return true;
    }
    if (text_[at_] != ',') return false;
    take();
    skip_space();
    if (closers_.back() == '}' && !key()) return false;
    return value();
  }

  bool key() {
    if (ended() || text_[at_] != '"' || !string()) return false;
    skip_space();
    if (ended() || text_[at_] != ':') return false;
    take();
    return true;
  }

  bool string() {
    const std::size_t start = at_++;
    while (!ended() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      if (text_[at_] == '\\' && !escape()) return false;
      ++at_;
    }
    if (ended()) return false;
    ++at_;
    out_ += text_.substr(start, at_ - start);
    return true;
  }

  /// Leaves the position on the escape's last character.
  bool escape() {
    ++at_;
    if (ended()) return false;
    if (text_[at_] != 'u') return std::string_view("\"\\/bfnrt").find(text_[at_]) != std::string_view::npos;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      if (ended() || !is_hex(text_[at_])) return false;
    }
    return true;
  }

  bool number() {
    const std::size_t start = at_;
    if (text_[at_] == '-') ++at_;
    if (!ended() && text_[at_] == '0') {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    if (!ended() && text_[at_] == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (!ended() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (!ended() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return false;
    }
    out_ += text_.substr(start, at_ - start);
    return true;
  }

  bool digits() {
    const std::size_t start = at_;
    while (!ended() && is_digit(text_[at_])) ++at_;
    return at_ > start;
  }

  bool literal(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    out_ += word;
    return true;
  }

  void take() { out_ += text_[at_++]; }
  void close() {
    take();
    closers_.pop_back();
  }
  void skip_space() {
    while (!ended() && is_space(text_[at_])) ++at_;
  }
  [[nodiscard]] bool ended() const { return at_ == text_.size(); }

  std::string& out_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::string closers_;
};

}  // namespace

bool append_compact_json(std::string& out, std::string_view text) {
  const std::size_t size = out.size();
  if (Compactor(out, text).run()) return true;
  out.resize(size);
  return false;
}

std::string_view bare_token(std::string_view token) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') token = token.substr(1, token.size() - 2);
  return token;
}

}  // namespace cohort
