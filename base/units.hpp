#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace cohort {

/// All time in Cohort; signed 64-bit, so that about 292 years fit.
using Nanoseconds = std::chrono::nanoseconds;

/// An amount of memory or traffic.
struct Bytes {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.value - b.value}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.value * n}; }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }
};

/// Floating-point operations; a multiply-add counts as two.
struct Flops {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Flops, Flops) = default;
  friend constexpr Flops operator+(Flops a, Flops b) { return {a.value + b.value}; }
  constexpr Flops& operator+=(Flops other) { return *this = *this + other; }
};

/// Text for people, three significant digits: "1.24 ms", "830 ns".
std::string format_time(Nanoseconds time);
/// Text for people, binary multiples: "12.0 MiB".
std::string format_bytes(Bytes bytes);

/// Seconds as a floating-point number, for rates and ratios only.
constexpr double seconds(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

namespace literals {
constexpr Nanoseconds operator""_ns(unsigned long long v) { return Nanoseconds(static_cast<std::int64_t>(v)); }
constexpr Nanoseconds operator""_us(unsigned long long v) { return Nanoseconds(static_cast<std::int64_t>(v) * 1000); }
constexpr Nanoseconds operator""_ms(unsigned long long v) {
  return Nanoseconds(static_cast<std::int64_t>(v) * 1'000'000);
}
constexpr Bytes operator""_KiB(unsigned long long v) { return {static_cast<std::int64_t>(v) << 10}; }
constexpr Bytes operator""_MiB(unsigned long long v) { return {static_cast<std::int64_t>(v) << 20}; }
}  // namespace literals

}  // namespace cohort
