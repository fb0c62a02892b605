#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "models/compute/ops.hpp"

namespace cohort::reference {
namespace {

/// One sample's position: its values lie `step` apart.
struct Sample {
  const float* values = nullptr;
  std::int64_t classes = 0;
  std::int64_t step = 0;
  std::int32_t label = 0;
  bool counts = true;      ///< its label is not the one that is ignored
  std::int64_t place = 0;  ///< where its result lies

  [[nodiscard]] double value(std::int64_t k) const { return static_cast<double>(values[k * step]); }
  /// log of the sum of all exponentials.
  [[nodiscard]] double log_sum() const {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t k = 0; k < classes; ++k) largest = std::max(largest, value(k));
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(value(k) - largest);
    return largest + std::log(sum);
  }
};

/// Calls visit(sample) for each sample, whose results lie with strides `places`; returns how many count.
template <class Visit>
std::int64_t for_each_sample(const SoftmaxCrossEntropy& op, const ConstTensor& x, const ConstTensor& labels,
                             const Shape& places, Visit visit) {
  Sample sample;
  sample.classes = x.shape[1];
  sample.step = x.strides[1];
  std::int64_t count = 0;
  for_each_index<3>(labels.shape, {without(x.strides, 1), labels.strides, places}, [&](const auto& at) {
    sample.values = x.data + at[0];
    sample.place = at[2];
    sample.label = whole(labels.data[at[1]]);
    sample.counts = op.ignored != sample.label;
    if (sample.counts && (sample.label < 0 || sample.label >= sample.classes)) {
      throw std::range_error("label " + std::to_string(sample.label) + " is none of 0 to " +
                             std::to_string(sample.classes - 1));
    }
    if (sample.counts) ++count;
    visit(sample);
  });
  return count;
}

void write_loss(const SoftmaxCrossEntropy& op, const ConstTensor& x, const ConstTensor& labels, const Tensor& y) {
  double sum = 0;
  const std::int64_t count = for_each_sample(op, x, labels, labels.strides, [&](const Sample& sample) {
    if (sample.counts) sum += sample.log_sum() - sample.value(sample.label);
  });
  if (op.reduction == LossReduction::kMean) sum /= static_cast<double>(std::max<std::int64_t>(count, 1));
  y.data[0] = static_cast<float>(sum);
}

void write_loss_gradient(const SoftmaxCrossEntropy& op, const ConstTensor& x, const ConstTensor& labels,
                         const Tensor& dx) {
  const Shape places = without(dx.strides, 1);
  const std::int64_t count = for_each_sample(op, x, labels, places, [](const Sample&) {});
  const bool mean = op.reduction == LossReduction::kMean;
  const double share = mean ? 1 / static_cast<double>(std::max<std::int64_t>(count, 1)) : 1.0;
  for_each_sample(op, x, labels, places, [&](const Sample& sample) {
    const double log_sum = sample.log_sum();
    for (std::int64_t k = 0; k < sample.classes; ++k) {
      const double slope = std::exp(sample.value(k) - log_sum) - (sample.counts && sample.label == k ? 1 : 0);
      dx.data[sample.place + k * dx.strides[1]] = sample.counts ? static_cast<float>(share * slope) : 0.0F;
    }
  });
}

}  // namespace

void compute(const SoftmaxCrossEntropy& op, Inputs inputs, const Tensor& y) {
  for_each_model(
      op.stacked, y.shape[0],
      [&](const ConstTensor& x, const ConstTensor& labels, const Tensor& loss) { write_loss(op, x, labels, loss); },
      inputs[0], inputs[1], y);
}

void compute(const SoftmaxCrossEntropyGradient& op, Inputs inputs, const Tensor& y) {
  for_each_model(
      op.loss.stacked, y.shape[0],
      [&](const ConstTensor& x, const ConstTensor& labels, const Tensor& dx) {
        write_loss_gradient(op.loss, x, labels, dx);
      },
      inputs[0], inputs[1], y);
}

void compute(const SoftmaxGradient& op, Inputs inputs, const Tensor& dx) {
  const ConstTensor& y = inputs[0];
  const ConstTensor& dy = inputs[1];
  const auto axis = static_cast<std::size_t>(op.axis);
  for_each_index<3>(
      without(y.shape, axis), {without(y.strides, axis), without(dy.strides, axis), without(dx.strides, axis)},
      [&](const auto& at) {
        const auto result = [&](std::int64_t i) { return static_cast<double>(y.data[at[0] + i * y.strides[axis]]); };
        const auto delta = [&](std::int64_t i) { return static_cast<double>(dy.data[at[1] + i * dy.strides[axis]]); };
        double sum = 0;
        for (std::int64_t i = 0; i < y.shape[axis]; ++i) sum += op.logarithm ? delta(i) : result(i) * delta(i);
        for (std::int64_t i = 0; i < y.shape[axis]; ++i) {
          const double slope = op.logarithm ? delta(i) - std::exp(result(i)) * sum : result(i) * (delta(i) - sum);
          dx.data[at[2] + i * dx.strides[axis]] = static_cast<float>(slope);
        }
      });
}

}  // namespace cohort::reference
