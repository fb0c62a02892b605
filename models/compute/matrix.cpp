#include <vector>

#include "models/compute/ops.hpp"

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

}  // namespace

void compute(const Gemm& op, Inputs inputs, const Tensor& y) {
  const bool biased = inputs.size() > 2;
  if (!op.stacked) return multiply(inputs[0], inputs[1], biased ? &inputs[2] : nullptr, y);
  for (std::int64_t model = 0; model < y.shape[0]; ++model) {
    const ConstTensor b = biased ? slice(inputs[2], model) : ConstTensor{};
    multiply(slice(inputs[0], model), slice(inputs[1], model), biased ? &b : nullptr, slice(y, model));
  }
}

void compute(const MatMul& op, Inputs inputs, const Tensor& y) {
  const std::size_t lead = y.rank() - 2;
  const Shape batch(y.shape.begin(), y.shape.begin() + static_cast<std::ptrdiff_t>(lead));
  const auto leading = [&](const ConstTensor& x) {
    const auto split = static_cast<std::ptrdiff_t>(x.rank() - 2);
    return broadcast_strides(Shape(x.shape.begin(), x.shape.begin() + split),
                             Shape(x.strides.begin(), x.strides.begin() + split), batch);
  };
  const ConstTensor& a = inputs[0];
  const ConstTensor& b = inputs[1];
  const std::size_t a_row = a.rank() - (op.transpose_a ? 1 : 2);
  const std::size_t a_column = a.rank() - (op.transpose_a ? 2 : 1);
  const std::size_t b_row = b.rank() - (op.transpose_b ? 1 : 2);
  const std::size_t b_column = b.rank() - (op.transpose_b ? 2 : 1);
  const std::int64_t depth = a.shape[a_column];
  const Shape y_leading(y.strides.begin(), y.strides.begin() + static_cast<std::ptrdiff_t>(lead));
  for_each_index<3>(batch, {leading(a), leading(b), y_leading}, [&](const auto& at) {
    for (std::int64_t m = 0; m < y.shape[lead]; ++m) {
      for (std::int64_t n = 0; n < y.shape[lead + 1]; ++n) {
        const float* from_a = a.data + at[0] + m * a.strides[a_row];
        const float* from_b = b.data + at[1] + n * b.strides[b_column];
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          sum +=
              static_cast<double>(from_a[k * a.strides[a_column]]) * static_cast<double>(from_b[k * b.strides[b_row]]);
        }
        y.data[at[2] + m * y.strides[lead] + n * y.strides[lead + 1]] = static_cast<float>(sum);
      }
    }
  });
}

}  // namespace cohort::reference
