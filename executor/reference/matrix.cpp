#include <cmath>
#include <vector>

#include "executor/reference/ops.hpp"

namespace cohort::reference {
namespace {

/// y = x w^T + b for one model; `b` may be null.
void multiply(const ConstTensor& x, const ConstTensor& w, const ConstTensor* b, const Tensor& y) {
  const Shape sample_shape(x.shape.begin() + 1, x.shape.end());
  const Shape sample_strides(x.strides.begin() + 1, x.strides.end());
  std::vector<float> sample(static_cast<std::size_t>(w.shape[1]));
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    std::size_t next = 0;
    const float* const values = x.data + n * x.strides[0];
    for_each_index<1>(sample_shape, {sample_strides}, [&](const auto& at) { sample[next++] = values[at[0]]; });
    for (std::int64_t o = 0; o < y.shape[1]; ++o) {
      double sum = b != nullptr ? static_cast<double>(b->data[o * b->strides[0]]) : 0.0;
      const float* const row = w.data + o * w.strides[0];
      for (std::size_t i = 0; i < sample.size(); ++i) {
        sum += static_cast<double>(sample[i]) * static_cast<double>(row[static_cast<std::int64_t>(i) * w.strides[1]]);
      }
      y.data[n * y.strides[0] + o * y.strides[1]] = static_cast<float>(sum);
    }
  }
}

/// Entry `index` of the leading axis.
template <class Element>
TensorRef<Element> slice(const TensorRef<Element>& tensor, std::int64_t index) {
  return {tensor.data + index * tensor.strides[0], without(tensor.shape, 0), without(tensor.strides, 0)};
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

/// One sample of an LSTM over all time steps.
class LstmSample {
 public:
  LstmSample(Inputs inputs, const Tensor& y, std::int64_t n)
      : x_(inputs[0]), w_(inputs[1]), r_(inputs[2]), b_(inputs.size() > 3 ? &inputs[3] : nullptr), y_(y), n_(n) {}

  void run() {
    const std::int64_t hidden = y_.shape[2];
    std::vector<double> state(static_cast<std::size_t>(hidden), 0.0), cell = state;
    for (std::int64_t t = 0; t < x_.shape[0]; ++t) {
      std::vector<double> next(state.size());
      for (std::int64_t h = 0; h < hidden; ++h) {
        const auto at = static_cast<std::size_t>(h);
        const double input = sigmoid(gate(0 * hidden + h, t, state));
        const double output = sigmoid(gate(1 * hidden + h, t, state));
        const double forget = sigmoid(gate(2 * hidden + h, t, state));
        const double candidate = std::tanh(gate(3 * hidden + h, t, state));
        cell[at] = forget * cell[at] + input * candidate;
        next[at] = output * std::tanh(cell[at]);
        y_.data[t * y_.strides[0] + n_ * y_.strides[1] + h * y_.strides[2]] = static_cast<float>(next[at]);
      }
      state = next;
    }
  }

 private:
  /// Row `row` of the four stacked gates before its nonlinearity.
  [[nodiscard]] double gate(std::int64_t row, std::int64_t t, const std::vector<double>& state) const {
    double sum = b_ != nullptr ? static_cast<double>(b_->data[row * b_->strides[0]]) : 0.0;
    const float* const x = x_.data + t * x_.strides[0] + n_ * x_.strides[1];
    for (std::int64_t i = 0; i < x_.shape[2]; ++i) {
      sum += static_cast<double>(x[i * x_.strides[2]]) *
             static_cast<double>(w_.data[row * w_.strides[0] + i * w_.strides[1]]);
    }
    for (std::size_t h = 0; h < state.size(); ++h) {
      sum +=
          state[h] * static_cast<double>(r_.data[row * r_.strides[0] + static_cast<std::int64_t>(h) * r_.strides[1]]);
    }
    return sum;
  }

  const ConstTensor& x_;
  const ConstTensor& w_;
  const ConstTensor& r_;
  const ConstTensor* b_;
  const Tensor& y_;
  std::int64_t n_;
};

}  // namespace

void compute(const Gemm& op, Inputs inputs, const Tensor& y) {
  const bool biased = inputs.size() > 2;
  if (!op.stacked) return multiply(inputs[0], inputs[1], biased ? &inputs[2] : nullptr, y);
  for (std::int64_t model = 0; model < y.shape[0]; ++model) {
    const ConstTensor b = biased ? slice(inputs[2], model) : ConstTensor{};
    multiply(slice(inputs[0], model), slice(inputs[1], model), biased ? &b : nullptr, slice(y, model));
  }
}

void compute(const Lstm&, Inputs inputs, const Tensor& y) {
  for (std::int64_t n = 0; n < y.shape[1]; ++n) LstmSample(inputs, y, n).run();
}

}  // namespace cohort::reference
