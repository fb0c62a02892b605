#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/reference/ops.hpp"

namespace cohort::reference {
namespace {

/// Calls visit(x lane, y lane) for every line of elements along `axis`.
template <class Visit>
void for_each_lane(const ConstTensor& x, const Tensor& y, std::size_t axis, Visit visit) {
  for_each_index<2>(without(y.shape, axis), {without(x.strides, axis), without(y.strides, axis)},
                    [&](const auto& at) { visit(x.data + at[0], y.data + at[1]); });
}

}  // namespace

void compute(const BatchNormalization& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const auto parameter = [&inputs](std::size_t which, std::int64_t c) {
    return static_cast<double>(inputs[which].data[c * inputs[which].strides[0]]);
  };
  for_each_lane(x, y, 1, [&](const float* from, float* to) {
    for (std::int64_t c = 0; c < y.shape[1]; ++c) {
      const double deviation = std::sqrt(parameter(4, c) + static_cast<double>(op.epsilon));
      const double centred = static_cast<double>(from[c * x.strides[1]]) - parameter(3, c);
      to[c * y.strides[1]] = static_cast<float>(parameter(1, c) * centred / deviation + parameter(2, c));
    }
  });
}

void compute(const LocalResponseNormalization& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const std::int64_t before = (op.size - 1) / 2;
  const std::int64_t after = op.size - 1 - before;
  for_each_lane(x, y, 1, [&](const float* from, float* to) {
    for (std::int64_t c = 0; c < y.shape[1]; ++c) {
      double squares = 0;
      for (std::int64_t i = std::max<std::int64_t>(c - before, 0); i <= std::min(c + after, x.shape[1] - 1); ++i) {
        const auto value = static_cast<double>(from[i * x.strides[1]]);
        squares += value * value;
      }
      const double scale =
          static_cast<double>(op.bias) + static_cast<double>(op.alpha) / static_cast<double>(op.size) * squares;
      to[c * y.strides[1]] = static_cast<float>(static_cast<double>(from[c * x.strides[1]]) /
                                                std::pow(scale, static_cast<double>(op.beta)));
    }
  });
}

void compute(const Softmax& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  for_each_lane(x, y, axis, [&](const float* from, float* to) {
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < y.shape[axis]; ++i) largest = std::max(largest, from[i * x.strides[axis]]);
    double sum = 0;
    for (std::int64_t i = 0; i < y.shape[axis]; ++i) {
      const float power = std::exp(from[i * x.strides[axis]] - largest);
      to[i * y.strides[axis]] = power;
      sum += static_cast<double>(power);
    }
    for (std::int64_t i = 0; i < y.shape[axis]; ++i) {
      float& element = to[i * y.strides[axis]];
      element = static_cast<float>(static_cast<double>(element) / sum);
    }
  });
}

}  // namespace cohort::reference
