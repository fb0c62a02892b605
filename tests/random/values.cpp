#include "tests/random/values.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cohort {

TensorValues random_values(const Model& model, std::uint64_t seed) {
  Random random(seed);
  TensorValues inputs;
  for (const TensorId id : model.inputs) {
    std::vector<float> values(static_cast<std::size_t>(element_count(model.tensor(id).shape)));
    for (float& value : values) value = random.uniform(-1, 1);
    inputs.push_back(std::move(values));
  }
  return inputs;
}

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
