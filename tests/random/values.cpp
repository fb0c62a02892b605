#include "tests/random/values.hpp"

#include <algorithm>
#include <cmath>

namespace cohort {

double difference(const TensorValues& a, const TensorValues& b) {
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return HUGE_VAL;
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      const double x = static_cast<double>(a[i][j]);
      const double y = static_cast<double>(b[i][j]);
      if (!std::isfinite(x) || !std::isfinite(y)) {
        if (std::isfinite(x) != std::isfinite(y)) return HUGE_VAL;
        continue;
      }
      worst = std::max(worst, std::abs(x - y));
      largest = std::max(largest, std::abs(y));
    }
  }
  return worst / largest;
}

}  // namespace cohort
