#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// Tells texts and numbers apart, for files that must belong together. Not for secrets.
/// Source: Fowler, Noll, Vo, FNV-1a of 64 bits; of numbers each is one step, as there may be many.
class Fingerprint {
 public:
  /// Texts one after another are not the same as one text.
  Fingerprint& add(std::string_view text) {
    for (const char c : text) take(static_cast<unsigned char>(c));
    take(0xff);  // in no UTF-8 text
    return *this;
  }
  Fingerprint& add(std::span<const float> numbers) {
    for (const float number : numbers) take(std::bit_cast<std::uint32_t>(number));
    return add(static_cast<std::uint64_t>(numbers.size()));
  }
  Fingerprint& add(std::span<const std::int32_t> numbers) {
    for (const std::int32_t number : numbers) take(static_cast<std::uint32_t>(number));
    return add(static_cast<std::uint64_t>(numbers.size()));
  }
  Fingerprint& add(std::uint64_t number) {
    take(number);
    return *this;
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  void take(std::uint64_t step) { hash_ = (hash_ ^ step) * 0x100000001b3ULL; }

  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace cohort
