#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace cohort {
namespace {

std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}", value, decimals);
}

}  // namespace

std::string format_time(Nanoseconds time) {
  const double ns = static_cast<double>(time.count());
  const double size = std::abs(ns);
  if (size < 1e3) return fmt::format("{} ns", time.count());
  if (size < 1e6) return three_digits(ns / 1e3) + " us";
  if (size < 1e9) return three_digits(ns / 1e6) + " ms";
  return three_digits(ns / 1e9) + " s";
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes.value);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes.value);
  return fmt::format("{} {}", three_digits(value), kUnits[unit]);
}

}  // namespace cohort
