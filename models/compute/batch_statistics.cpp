#include <cmath>
#include <vector>

#include "models/compute/ops.hpp"
#include "models/compute/packed.hpp"
#include "models/compute/statistics.hpp"

namespace cohort::reference {
namespace {

double entry(const ConstTensor& x, std::int64_t i) { return static_cast<double>(x.data[i * x.strides.back()]); }

/// Mean and 1/sqrt(variance + epsilon) of channel `c`, of statistics [2, C].
Statistics channel_statistics(const ConstTensor& statistics, std::int64_t c, float epsilon) {
  const double mean = entry(statistics, c);
  const auto variance = static_cast<double>(statistics.data[statistics.strides[0] + c * statistics.strides[1]]);
  return {mean, 1 / std::sqrt(variance + static_cast<double>(epsilon)), variance};
}

/// The strides of one channel: all axes but the second.
Shape channel(const Shape& all) { return without(all, 1); }

}  // namespace

void compute(const BatchStatistics&, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  for (std::int64_t c = 0; c < x.shape[1]; ++c) {
    const float* const first = x.data + c * x.strides[1];
    const Statistics found = statistics(first, channel(x.shape), channel(x.strides), 0);
    y.data[c * y.strides[1]] = static_cast<float>(found.mean);
    y.data[y.strides[0] + c * y.strides[1]] = static_cast<float>(found.variance);
  }
}

void compute(const NormalizeByStatistics& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  for (std::int64_t c = 0; c < x.shape[1]; ++c) {
    const Statistics found = channel_statistics(inputs[3], c, op.epsilon);
    const double scale = entry(inputs[1], c) * found.scale;
    const double shift = entry(inputs[2], c);
    for_each_index<2>(channel(x.shape), {channel(x.strides), channel(y.strides)}, [&](const auto& at) {
      const double centred = static_cast<double>(x.data[c * x.strides[1] + at[0]]) - found.mean;
      y.data[c * y.strides[1] + at[1]] = static_cast<float>(scale * centred + shift);
    });
  }
}

void compute(const BatchNormalizationWeightGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const ConstTensor& dy = inputs[2];
  fill(y, 0);
  for (std::int64_t c = 0; c < x.shape[1]; ++c) {
    const Statistics found = channel_statistics(inputs[1], c, op.epsilon);
    double scale = 0;
    double shift = 0;
    for_each_index<2>(channel(x.shape), {channel(x.strides), channel(dy.strides)}, [&](const auto& at) {
      const double centred = static_cast<double>(x.data[c * x.strides[1] + at[0]]) - found.mean;
      const auto delta = static_cast<double>(dy.data[c * dy.strides[1] + at[1]]);
      scale += centred * found.scale * delta;
      shift += delta;
    });
    put(y, c, {&scale, 1});
    put(y, pack_place(x.shape[1]) + c, {&shift, 1});
  }
}

void compute(const BatchNormalizationGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const ConstTensor& dy = inputs[3];
  const std::int64_t channels = x.shape[1];
  const auto count = static_cast<double>(element_count(channel(x.shape)));
  for (std::int64_t c = 0; c < channels; ++c) {
    const Statistics found = channel_statistics(inputs[2], c, op.epsilon);
    const double scale = entry(inputs[1], c) * found.scale;
    const double by_scale = entry(inputs[4], c) / count;
    const double by_shift = entry(inputs[4], pack_place(channels) + c) / count;
    for_each_index<3>(channel(x.shape), {channel(x.strides), channel(dy.strides), channel(y.strides)},
                      [&](const auto& at) {
                        const double centred = static_cast<double>(x.data[c * x.strides[1] + at[0]]) - found.mean;
                        const auto delta = static_cast<double>(dy.data[c * dy.strides[1] + at[1]]);
                        y.data[c * y.strides[1] + at[2]] =
                            static_cast<float>(scale * (delta - by_shift - centred * found.scale * by_scale));
                      });
  }
}

}  // namespace cohort::reference
