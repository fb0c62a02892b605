#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "models/compute/ops.hpp"
#include "models/random_bits.hpp"

namespace cohort::reference {
namespace {

/// What one member's settings say.
class Settings {
 public:
  explicit Settings(const ConstTensor& settings) : settings_(settings) {}

  [[nodiscard]] double operator[](Setting setting) const {
    return static_cast<double>(settings_.data[static_cast<std::int64_t>(setting) * settings_.strides[0]]);
  }

 private:
  const ConstTensor& settings_;
};

/// A parameter and its moments, as the rule names them.
using Rows = std::array<double, 3>;

void step_sgd(const Update& op, const Settings& settings, double gradient, Rows& rows) {
  gradient += settings[Setting::kWeightDecay] * rows[0];
  if (op.momentum) {
    const double momentum = settings[Setting::kMomentum];
    rows[1] = momentum * rows[1] + gradient;
    gradient = op.nesterov ? gradient + momentum * rows[1] : rows[1];
  }
  rows[0] -= settings[Setting::kLearningRate] * gradient;
}

void step_adam(const Update& op, const Settings& settings, double gradient, Rows& rows) {
  const double rate = settings[Setting::kLearningRate];
  const double decay = settings[Setting::kWeightDecay];
  const double beta1 = settings[Setting::kBeta1];
  const double beta2 = settings[Setting::kBeta2];
  if (op.rule == UpdateRule::kAdamW) {
    rows[0] *= 1 - rate * decay;
  } else {
    gradient += decay * rows[0];
  }
  rows[1] = beta1 * rows[1] + (1 - beta1) * gradient;
  rows[2] = beta2 * rows[2] + (1 - beta2) * gradient * gradient;
  const double root = std::sqrt(rows[2]) / std::sqrt(settings[Setting::kCorrection2]);
  rows[0] -= rate / settings[Setting::kCorrection1] * rows[1] / (root + settings[Setting::kEpsilon]);
}

/// One member's step. Each parameter's rows are read before they are written: y may be the state.
void update(const Update& op, const ConstTensor& state, const ConstTensor& gradient, const Settings& settings,
            double share, const Tensor& y) {
  const std::int64_t count = state.shape[0];
  for (std::int64_t p = 0; p < state.shape[1]; ++p) {
    Rows rows{};
    for (std::int64_t row = 0; row < count; ++row)
      rows[static_cast<std::size_t>(row)] =
          static_cast<double>(state.data[row * state.strides[0] + p * state.strides[1]]);
    const double own = share * static_cast<double>(gradient.data[p * gradient.strides[0]]);
    if (op.rule == UpdateRule::kSgd) {
      step_sgd(op, settings, own, rows);
    } else {
      step_adam(op, settings, own, rows);
    }
    for (std::int64_t row = 0; row < count; ++row)
      y.data[row * y.strides[0] + p * y.strides[1]] = static_cast<float>(rows[static_cast<std::size_t>(row)]);
  }
}

RandomKey key_of(const ConstTensor& key) {
  const auto word = [&](std::int64_t i) { return static_cast<std::uint32_t>(whole(key.data[i * key.strides[0]])); };
  return {word(0), word(1), word(2), word(3)};
}

void drop(std::uint32_t salt, const ConstTensor& x, const ConstTensor& rate_of, const ConstTensor& key_words,
          const Tensor& y) {
  const float rate = rate_of.data[0];
  if (!(rate >= 0 && rate < 1))
    throw std::range_error("rate must be at least 0 and below 1, not " + std::to_string(rate));
  const RandomKey key = key_of(key_words);
  const double scale = 1 / (1 - static_cast<double>(rate));
  RandomBlock block;
  std::uint64_t element = 0;
  for_each_index<2>(y.shape, {x.strides, y.strides}, [&](const auto& at) {
    if (element % 4 == 0) block = random_block(key, salt, element / 4);
    const bool kept = is_kept(block.words[element % 4], rate);
    y.data[at[1]] = kept ? static_cast<float>(static_cast<double>(x.data[at[0]]) * scale) : 0.0F;
    ++element;
  });
}

}  // namespace

void compute(const Dropout& op, Inputs inputs, const Tensor& y) {
  for_each_model(
      op.stacked, y.rank() == 0 ? 1 : y.shape[0],
      [&](const ConstTensor& x, const ConstTensor& rate, const ConstTensor& key, const Tensor& result) {
        drop(op.salt, x, rate, key, result);
      },
      inputs[0], inputs[1], inputs[2], y);
}

void compute(const Update& op, Inputs inputs, const Tensor& y) {
  const auto step = [&](const ConstTensor& state, const ConstTensor& gradient, const ConstTensor& settings,
                        const ConstTensor* norm, const Tensor& next) {
    const Settings own(settings);
    const double share =
        norm == nullptr ? 1.0 : std::min(1.0, own[Setting::kClipNorm] / (static_cast<double>(norm->data[0]) + 1e-6));
    update(op, state, gradient, own, share, next);
  };
  if (op.clip) {
    for_each_model(
        op.stacked, y.shape[0],
        [&](const ConstTensor& state, const ConstTensor& gradient, const ConstTensor& settings, const ConstTensor& norm,
            const Tensor& next) { step(state, gradient, settings, &norm, next); },
        inputs[0], inputs[1], inputs[2], inputs[3], y);
    return;
  }
  for_each_model(
      op.stacked, y.shape[0],
      [&](const ConstTensor& state, const ConstTensor& gradient, const ConstTensor& settings, const Tensor& next) {
        step(state, gradient, settings, nullptr, next);
      },
      inputs[0], inputs[1], inputs[2], y);
}

void compute(const RunningAverage& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& state = inputs[0];
  const ConstTensor& value = inputs[1];
  for_each_index<3>(y.shape, {state.strides, value.strides, y.strides}, [&](const auto& at) {
    const auto before = static_cast<double>(state.data[at[0]]);
    const double difference = static_cast<double>(value.data[at[1]]) - before;
    y.data[at[2]] = static_cast<float>(before + static_cast<double>(op.momentum) * difference);
  });
}

}  // namespace cohort::reference
