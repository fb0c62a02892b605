#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort {

/// Tells texts apart, for files that must belong together. Not for secrets.
/// Source: Fowler, Noll, Vo, FNV-1a of 64 bits.
class Fingerprint {
 public:
  /// Texts one after another are not the same as one text.
  Fingerprint& add(std::string_view text) {
    for (const char c : text) take(static_cast<unsigned char>(c));
    take(0xff);  // in no UTF-8 text
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void take(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }

  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace cohort
