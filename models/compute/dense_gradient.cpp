#include <algorithm>
#include <vector>

#include "models/compute/ops.hpp"
#include "models/compute/packed.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::reference {
namespace {

/// The gradients of the convolution of one model.
class ConvolutionSums {
 public:
  ConvolutionSums(const ConvolutionWeightGradient& op, const ConstTensor& x, const ConstTensor& dy)
      : op_(op), window_(window3(op.window)), x_(x), dy_(dy) {}

  void write(const Tensor& pack) {
    const std::int64_t channels = x_.shape[1] / op_.groups;
    const std::int64_t outputs = dy_.shape[1];
    const std::int64_t filter = channels * element_count(op_.window.kernel);
    std::vector<double> filter_sums(static_cast<std::size_t>(filter));
    for (std::int64_t k = 0; k < outputs; ++k) {
      std::fill(filter_sums.begin(), filter_sums.end(), 0.0);
      const double bias = add_up(k, k / (outputs / op_.groups) * channels, filter_sums);
      put(pack, k * filter, filter_sums);
      if (op_.bias) put(pack, pack_place(outputs * filter) + k, {&bias, 1});
    }
  }

 private:
  /// Adds up the gradient of filter `k`, which reads the channels from `first` on; returns that of its bias.
  double add_up(std::int64_t k, std::int64_t first, std::vector<double>& filter) const {
    const Shape taps{window_.kernel[1] * window_.kernel[2], window_.kernel[2], 1};
    const std::int64_t kernel = element_count(op_.window.kernel);
    const std::int64_t channels = static_cast<std::int64_t>(filter.size()) / kernel;
    double bias = 0;
    for (std::int64_t n = 0; n < dy_.shape[0]; ++n) {
      const float* const from = dy_.data + n * dy_.strides[0] + k * dy_.strides[1];
      for_each_position(dy_, [&](const Shape& at) {
        const auto dy = static_cast<double>(from[offset_of(dy_, at)]);
        bias += dy;
        for (std::int64_t c = 0; c < channels; ++c) {
          const float* const plane = x_.data + n * x_.strides[0] + (first + c) * x_.strides[1];
          double* const sums = filter.data() + c * kernel;
          for_each_inside(window_, at, x_, taps, [&](std::int64_t x_offset, std::int64_t tap) {
            sums[tap] += static_cast<double>(plane[x_offset]) * dy;
          });
        }
      });
    }
    return bias;
  }

  const ConvolutionWeightGradient& op_;
  Window3 window_;
  const ConstTensor& x_;
  const ConstTensor& dy_;
};

/// The channels of model `model`.
ConstTensor channels_of(ConstTensor tensor, std::int64_t model, std::int64_t models) {
  tensor.shape[1] /= models;
  tensor.data += model * tensor.shape[1] * tensor.strides[1];
  return tensor;
}

/// The gradients of one model's Gemm.
void write_gemm_sums(bool bias, const ConstTensor& x, const ConstTensor& dy, const Tensor& pack) {
  const std::int64_t samples = dy.shape[0];
  const std::int64_t outputs = dy.shape[1];
  const std::vector<double> values = dense(x);
  const std::size_t inputs = values.size() / static_cast<std::size_t>(samples);
  std::vector<double> row(inputs);
  for (std::int64_t o = 0; o < outputs; ++o) {
    std::fill(row.begin(), row.end(), 0.0);
    double sum = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
      const auto delta = static_cast<double>(dy.data[n * dy.strides[0] + o * dy.strides[1]]);
      sum += delta;
      const double* const sample = values.data() + static_cast<std::size_t>(n) * inputs;
      for (std::size_t i = 0; i < inputs; ++i) row[i] += sample[i] * delta;
    }
    const auto width = static_cast<std::int64_t>(inputs);
    put(pack, o * width, row);
    if (bias) put(pack, pack_place(outputs * width) + o, {&sum, 1});
  }
}

/// The gradient of one plane of a Pool's x.
class PoolSums {
 public:
  /// `x` may have no data for averages.
  PoolSums(const Pool& pool, const ConstTensor& x) : pool_(pool), window_(window3(pool.window)), x_(x) {
    sums_.resize(static_cast<std::size_t>(x.shape[2] * x.shape[3] * x.shape[4]));
  }

  const std::vector<double>& add_up(const float* x, const float* dy, const ConstTensor& dy_geometry) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for_each_position(dy_geometry, [&](const Shape& at) {
      const auto delta = static_cast<double>(dy[offset_of(dy_geometry, at)]);
      if (pool_.kind == PoolKind::kMax) {
        give_to_largest(x, at, delta);
      } else {
        share_out(at, delta);
      }
    });
    return sums_;
  }

 private:
  double& sum_at(const Shape& from) {
    return sums_[static_cast<std::size_t>((from[0] * x_.shape[3] + from[1]) * x_.shape[4] + from[2])];
  }

  void give_to_largest(const float* x, const Shape& at, double delta) {
    double* largest = nullptr;
    float most = 0;
    for_each_tap(window_, at, x_, [&](const Shape& from) {
      const float candidate = x[offset_of(x_, from)];
      if (largest != nullptr && !(candidate > most)) return;
      most = candidate;
      largest = &sum_at(from);
    });
    if (largest != nullptr) *largest += delta;
  }

  void share_out(const Shape& at, double delta) {
    std::int64_t count = 0;
    for_each_tap(window_, at, x_, [&](const Shape&) { ++count; });
    if (pool_.count_include_pad) count = padded_count(window_, at, x_);
    const double share = delta / static_cast<double>(std::max<std::int64_t>(count, 1));
    for_each_tap(window_, at, x_, [&](const Shape& from) { sum_at(from) += share; });
  }

  const Pool& pool_;
  Window3 window_;
  const ConstTensor& x_;
  std::vector<double> sums_;
};

}  // namespace

void compute(const ConvolutionWeightGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor x = with_three_spatial(inputs[0]);
  const ConstTensor dy = with_three_spatial(inputs[1]);
  fill(y, 0);
  for (std::int64_t model = 0; model < op.models; ++model) {
    const ConstTensor own_x = op.shared_input ? x : channels_of(x, model, op.models);
    const ConstTensor own_dy = channels_of(dy, model, op.models);
    ConvolutionSums(op, own_x, own_dy).write(op.models > 1 ? slice(y, model) : y);
  }
}

void compute(const GemmWeightGradient& op, Inputs inputs, const Tensor& y) {
  fill(y, 0);
  for_each_model(
      op.stacked, y.shape[0],
      [&](const ConstTensor& x, const ConstTensor& dy, const Tensor& pack) { write_gemm_sums(op.bias, x, dy, pack); },
      inputs[0], inputs[1], y);
}

void compute(const PoolGradient& op, Inputs inputs, const Tensor& output) {
  const ConstTensor dy = with_three_spatial(inputs[0]);
  const Tensor dx = with_three_spatial(output);
  const ConstTensor x =
      op.pool.kind == PoolKind::kMax ? with_three_spatial(inputs[1]) : ConstTensor{nullptr, dx.shape, dx.strides};
  PoolSums sums(op.pool, x);
  for (std::int64_t n = 0; n < dx.shape[0]; ++n) {
    for (std::int64_t c = 0; c < dx.shape[1]; ++c) {
      const float* const from = x.data == nullptr ? nullptr : x.data + n * x.strides[0] + c * x.strides[1];
      const std::vector<double>& plane = sums.add_up(from, dy.data + n * dy.strides[0] + c * dy.strides[1], dy);
      float* const to = dx.data + n * dx.strides[0] + c * dx.strides[1];
      std::size_t next = 0;
      for_each_position(dx, [&](const Shape& at) { to[offset_of(dx, at)] = static_cast<float>(plane[next++]); });
    }
  }
}

}  // namespace cohort::reference
