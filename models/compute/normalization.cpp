#include <algorithm>
#include <cmath>
#include <limits>

#include "models/compute/ops.hpp"
#include "models/compute/statistics.hpp"

namespace cohort::reference {

void compute(const GroupNormalization& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const std::int64_t channels = x.shape[1] / op.groups;
  Shape shape = part(x.shape, 1, false);
  shape[0] = channels;
  const Shape from = part(x.strides, 1, false);
  const Shape to = part(y.strides, 1, false);
  const bool per_group = inputs[1].shape[0] != x.shape[1];
  const auto parameter = [&](std::size_t which, std::int64_t channel) {
    const std::int64_t entry = per_group ? channel / channels : channel;
    return static_cast<double>(inputs[which].data[entry * inputs[which].strides[0]]);
  };
  const Shape positions = part(x.shape, 2, false);
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t group = 0; group < op.groups; ++group) {
      const float* const first = x.data + n * x.strides[0] + group * channels * x.strides[1];
      const Statistics found = statistics(first, shape, from, op.epsilon);
      for (std::int64_t c = group * channels; c < (group + 1) * channels; ++c) {
        const float* const plane = x.data + n * x.strides[0] + c * x.strides[1];
        float* const result = y.data + n * y.strides[0] + c * y.strides[1];
        for_each_index<2>(positions, {part(x.strides, 2, false), part(y.strides, 2, false)}, [&](const auto& at) {
          const double normalised = (static_cast<double>(plane[at[0]]) - found.mean) * found.scale;
          result[at[1]] = static_cast<float>(parameter(1, c) * normalised + parameter(2, c));
        });
      }
    }
  }
}

void compute(const LayerNormalization& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const auto axis = static_cast<std::size_t>(op.axis);
  const bool shifted = inputs.size() > 2;
  const auto broadcast = [&](std::size_t which) {
    return broadcast_strides(inputs[which].shape, inputs[which].strides, x.shape);
  };
  const Shape scale = broadcast(1);
  const Shape shift = shifted ? broadcast(2) : Shape(x.rank(), 0);
  const Shape inner = part(x.shape, axis, false);
  for_each_index<4>(
      part(x.shape, axis, true),
      {part(x.strides, axis, true), part(y.strides, axis, true), part(scale, axis, true), part(shift, axis, true)},
      [&](const auto& outer) {
        const float* const first = x.data + outer[0];
        const Statistics found = statistics(first, inner, part(x.strides, axis, false), op.epsilon, op.centred);
        for_each_index<4>(inner,
                          {part(x.strides, axis, false), part(y.strides, axis, false), part(scale, axis, false),
                           part(shift, axis, false)},
                          [&](const auto& at) {
                            const double normalised = (static_cast<double>(first[at[0]]) - found.mean) * found.scale;
                            const double scaled = normalised * static_cast<double>(inputs[1].data[outer[2] + at[2]]);
                            const double added = shifted ? static_cast<double>(inputs[2].data[outer[3] + at[3]]) : 0.0;
                            y.data[outer[1] + at[1]] = static_cast<float>(scaled + added);
                          });
      });
}

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
    if (op.logarithm) {
      const double shift = static_cast<double>(largest) + std::log(sum);
      for (std::int64_t i = 0; i < y.shape[axis]; ++i) {
        to[i * y.strides[axis]] = static_cast<float>(static_cast<double>(from[i * x.strides[axis]]) - shift);
      }
      return;
    }
    for (std::int64_t i = 0; i < y.shape[axis]; ++i) {
      float& element = to[i * y.strides[axis]];
      element = static_cast<float>(static_cast<double>(element) / sum);
    }
  });
}

}  // namespace cohort::reference
