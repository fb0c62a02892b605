#include <algorithm>
#include <limits>

#include "executor/reference/ops.hpp"

namespace cohort::reference {
namespace {

/// A window over three spatial dimensions; fewer are preceded by ones.
struct Window3 {
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, pad_begin{}, pad_end{}, dilation{1, 1, 1};
};

void put_last(const std::vector<std::int64_t>& values, std::array<std::int64_t, 3>& into) {
  std::copy(values.begin(), values.end(), into.end() - static_cast<std::ptrdiff_t>(values.size()));
}

Window3 window3(const Window& window) {
  Window3 result;
  put_last(window.kernel, result.kernel);
  put_last(window.stride, result.stride);
  put_last(window.pad_begin, result.pad_begin);
  put_last(window.pad_end, result.pad_end);
  put_last(window.dilation, result.dilation);
  return result;
}

/// The tensor with three spatial dimensions: ones are put before those it has.
template <class Element>
TensorRef<Element> with_three_spatial(TensorRef<Element> tensor) {
  while (tensor.rank() < 5) {
    tensor.shape.insert(tensor.shape.begin() + 2, 1);
    tensor.strides.insert(tensor.strides.begin() + 2, 0);
  }
  return tensor;
}

/// Calls visit(x offset, kernel offset) for every element of the window at output position `at`
/// that lies inside x.
template <class Visit>
void for_each_inside(const Window3& window, const Shape& at, const ConstTensor& x, const Shape& kernel_strides,
                     Visit visit) {
  std::array<std::int64_t, 3> first{};
  for (std::size_t d = 0; d < 3; ++d) first[d] = at[d] * window.stride[d] - window.pad_begin[d];
  const auto inside = [&x](std::size_t d, std::int64_t i) { return i >= 0 && i < x.shape[d + 2]; };
  for (std::int64_t a = 0; a < window.kernel[0]; ++a) {
    const std::int64_t i = first[0] + a * window.dilation[0];
    if (!inside(0, i)) continue;
    for (std::int64_t b = 0; b < window.kernel[1]; ++b) {
      const std::int64_t j = first[1] + b * window.dilation[1];
      if (!inside(1, j)) continue;
      for (std::int64_t c = 0; c < window.kernel[2]; ++c) {
        const std::int64_t k = first[2] + c * window.dilation[2];
        if (!inside(2, k)) continue;
        visit(i * x.strides[2] + j * x.strides[3] + k * x.strides[4],
              a * kernel_strides[0] + b * kernel_strides[1] + c * kernel_strides[2]);
      }
    }
  }
}

/// Calls visit(n, channel, spatial position, element) for every element of y.
template <class Visit>
void for_each_output(const Tensor& y, Visit visit) {
  Shape at(3, 0);
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t k = 0; k < y.shape[1]; ++k) {
      float* const plane = y.data + n * y.strides[0] + k * y.strides[1];
      for (at[0] = 0; at[0] < y.shape[2]; ++at[0]) {
        for (at[1] = 0; at[1] < y.shape[3]; ++at[1]) {
          for (at[2] = 0; at[2] < y.shape[4]; ++at[2]) {
            visit(n, k, at, plane[at[0] * y.strides[2] + at[1] * y.strides[3] + at[2] * y.strides[4]]);
          }
        }
      }
    }
  }
}

}  // namespace

void compute(const Convolution& op, Inputs inputs, const Tensor& output) {
  const ConstTensor x = with_three_spatial(inputs[0]);
  const ConstTensor w = with_three_spatial(inputs[1]);
  const Tensor y = with_three_spatial(output);
  const bool biased = inputs.size() > 2;
  const Window3 window = window3(op.window);
  const Shape kernel_strides(w.strides.begin() + 2, w.strides.end());
  const std::int64_t group_outputs = w.shape[0] / op.groups;
  const std::int64_t group_inputs = w.shape[1];
  for_each_output(y, [&](std::int64_t n, std::int64_t k, const Shape& at, float& element) {
    double sum = biased ? static_cast<double>(inputs[2].data[k * inputs[2].strides[0]]) : 0.0;
    for (std::int64_t c = 0; c < group_inputs; ++c) {
      const std::int64_t channel = k / group_outputs * group_inputs + c;
      const float* const plane = x.data + n * x.strides[0] + channel * x.strides[1];
      const float* const kernel = w.data + k * w.strides[0] + c * w.strides[1];
      for_each_inside(window, at, x, kernel_strides, [&](std::int64_t x_offset, std::int64_t w_offset) {
        sum += static_cast<double>(plane[x_offset]) * static_cast<double>(kernel[w_offset]);
      });
    }
    element = static_cast<float>(sum);
  });
}

void compute(const Pool& op, Inputs inputs, const Tensor& output) {
  const ConstTensor x = with_three_spatial(inputs[0]);
  const Tensor y = with_three_spatial(output);
  const Window3 window = window3(op.window);
  const Shape no_kernel(3, 0);
  constexpr std::int64_t one = 1;
  const std::int64_t window_size = window.kernel[0] * window.kernel[1] * window.kernel[2];
  for_each_output(y, [&](std::int64_t n, std::int64_t k, const Shape& at, float& element) {
    const float* const plane = x.data + n * x.strides[0] + k * x.strides[1];
    float largest = -std::numeric_limits<float>::infinity();
    double sum = 0;
    std::int64_t count = 0;
    for_each_inside(window, at, x, no_kernel, [&](std::int64_t x_offset, std::int64_t) {
      largest = std::max(largest, plane[x_offset]);
      sum += static_cast<double>(plane[x_offset]);
      ++count;
    });
    if (op.kind == PoolKind::kMax) {
      element = largest;
    } else {
      element =
          static_cast<float>(sum / static_cast<double>(op.count_include_pad ? window_size : std::max(count, one)));
    }
  });
}

}  // namespace cohort::reference
