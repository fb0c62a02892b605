#include "tracer/file/microseconds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "base/text.hpp"

namespace cohort {
namespace {

std::size_t count_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

/// "12", "034", -3 of "12.034e-3".
struct Decimal {
  bool negative = false;
  std::string_view whole;
  std::string_view fraction;
  int exponent = 0;

  [[nodiscard]] char digit(std::size_t i) const {
    if (i < whole.size()) return whole[i];
    i -= whole.size();
    return i < fraction.size() ? fraction[i] : '0';
  }
};

std::optional<Decimal> split(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
    text.remove_suffix(1);
  Decimal parts;
  if (!text.empty() && text.front() == '-') {
    parts.negative = true;
    text.remove_prefix(1);
  }
  parts.whole = text.substr(0, count_digits(text));
  if (parts.whole.empty()) return std::nullopt;
  text.remove_prefix(parts.whole.size());
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    parts.fraction = text.substr(0, count_digits(text));
    if (parts.fraction.empty()) return std::nullopt;
    text.remove_prefix(parts.fraction.size());
  }
  if (text.empty()) return parts;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts.exponent);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return parts;
}

}  // namespace

void append_microseconds(std::string& out, Nanoseconds time) {
  const std::int64_t count = time.count();
  const std::uint64_t size =
      count < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  if (count < 0) out += '-';
  const fmt::format_int whole(size / 1000);
  out.append(whole.data(), whole.size());
  const auto rest = static_cast<unsigned>(size % 1000);
  out += '.';
  out += static_cast<char>('0' + rest / 100);
  out += static_cast<char>('0' + rest / 10 % 10);
  out += static_cast<char>('0' + rest % 10);
}

std::optional<Nanoseconds> microseconds_from(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  constexpr int kNanosecondDigits = 3;
  constexpr int kMostShift = 400;  // beyond this every number is zero or too large anyway
  if (parts->exponent > kMostShift || parts->exponent < -kMostShift) return std::nullopt;
  const auto length = static_cast<std::int64_t>(parts->whole.size()) + parts->exponent + kNanosecondDigits;
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    const int digit = parts->digit(static_cast<std::size_t>(i)) - '0';
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, digit, &value)) return std::nullopt;
  }
  const bool round_up = length >= 0 && parts->digit(static_cast<std::size_t>(length)) >= '5';
  if (round_up && __builtin_add_overflow(value, 1, &value)) return std::nullopt;
  return Nanoseconds(parts->negative ? -value : value);
}

}  // namespace cohort
