#include "base/rate.hpp"

#include <fmt/format.h>

namespace cohort {

std::string format_rate(double samples_per_second) {
  constexpr double kFew = 10;
  return fmt::format("{:.{}f} samples/s", samples_per_second, samples_per_second < kFew ? 3 : 0);
}

}  // namespace cohort
