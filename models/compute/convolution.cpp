#include <algorithm>
#include <limits>
#include <vector>

#include "models/compute/ops.hpp"

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

/// Calls visit(x position) for every element of the window at output position `at` that lies inside x.
template <class Visit>
void for_each_tap(const Window3& window, const Shape& at, const ConstTensor& x, Visit visit) {
  Shape from(3);
  for_each_index<1>(Shape(window.kernel.begin(), window.kernel.end()),
                    {Shape{window.kernel[1] * window.kernel[2], window.kernel[2], 1}}, [&](const auto& offset) {
                      const std::int64_t tap = offset[0];
                      const std::array<std::int64_t, 3> taps{tap / (window.kernel[1] * window.kernel[2]),
                                                             tap / window.kernel[2] % window.kernel[1],
                                                             tap % window.kernel[2]};
                      for (std::size_t d = 0; d < 3; ++d) {
                        from[d] = at[d] * window.stride[d] - window.pad_begin[d] + taps[d] * window.dilation[d];
                        if (from[d] < 0 || from[d] >= x.shape[d + 2]) return;
                      }
                      visit(from);
                    });
}

/// Calls visit(x position, kernel position) for every x element whose kernel reaches output position
/// `at` of a transposed convolution.
template <class Visit>
void for_each_source(const Window3& window, const Shape& at, const ConstTensor& x, Visit visit) {
  Shape from(3), tap(3);
  for_each_index<1>(Shape(window.kernel.begin(), window.kernel.end()),
                    {Shape{window.kernel[1] * window.kernel[2], window.kernel[2], 1}}, [&](const auto& offset) {
                      tap = {offset[0] / (window.kernel[1] * window.kernel[2]),
                             offset[0] / window.kernel[2] % window.kernel[1], offset[0] % window.kernel[2]};
                      for (std::size_t d = 0; d < 3; ++d) {
                        const std::int64_t reached = at[d] + window.pad_begin[d] - tap[d] * window.dilation[d];
                        if (reached < 0 || reached % window.stride[d] != 0) return;
                        from[d] = reached / window.stride[d];
                        if (from[d] >= x.shape[d + 2]) return;
                      }
                      visit(from, tap);
                    });
}

/// Elements of the window at `at` that lie inside x and its padding.
std::int64_t padded_count(const Window3& window, const Shape& at, const ConstTensor& x) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t room = window.pad_begin[d] + x.shape[d + 2] + window.pad_end[d] - at[d] * window.stride[d];
    count *= std::clamp<std::int64_t>((room + window.dilation[d] - 1) / window.dilation[d], 0, window.kernel[d]);
  }
  return count;
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

void compute(const ConvTranspose& op, Inputs inputs, const Tensor& output) {
  const ConstTensor x = with_three_spatial(inputs[0]);
  const ConstTensor w = with_three_spatial(inputs[1]);
  const Tensor y = with_three_spatial(output);
  const Window3 window = window3(op.window);
  const std::int64_t group_inputs = x.shape[1] / op.groups;
  const std::int64_t group_outputs = w.shape[1];
  for_each_output(y, [&](std::int64_t n, std::int64_t k, const Shape& at, float& element) {
    double sum = inputs.size() > 2 ? static_cast<double>(inputs[2].data[k * inputs[2].strides[0]]) : 0.0;
    const std::int64_t group = k / group_outputs;
    for_each_source(window, at, x, [&](const Shape& from, const Shape& tap) {
      const std::int64_t x_offset = from[0] * x.strides[2] + from[1] * x.strides[3] + from[2] * x.strides[4];
      const std::int64_t w_offset = tap[0] * w.strides[2] + tap[1] * w.strides[3] + tap[2] * w.strides[4];
      for (std::int64_t c = group * group_inputs; c < (group + 1) * group_inputs; ++c) {
        sum += static_cast<double>(x.data[n * x.strides[0] + c * x.strides[1] + x_offset]) *
               static_cast<double>(w.data[c * w.strides[0] + k % group_outputs * w.strides[1] + w_offset]);
      }
    });
    element = static_cast<float>(sum);
  });
}

void compute(const Pool& op, Inputs inputs, const Tensor& output) {
  const ConstTensor x = with_three_spatial(inputs[0]);
  const Tensor y = with_three_spatial(output);
  const Window3 window = window3(op.window);
  const Shape no_kernel(3, 0);
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
      const std::int64_t divisor = op.count_include_pad ? padded_count(window, at, x) : count;
      element = static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(divisor, 1)));
    }
  });
}

void compute(const MaxPoolIndices& op, Inputs inputs, const Tensor& output) {
  ConstTensor x = with_three_spatial(inputs[0]);
  const Tensor y = with_three_spatial(output);
  const Window3 window = window3(op.window);
  Shape positions = row_major_strides(x.shape);
  if (op.column_major) positions = {positions[0], positions[1], 1, x.shape[2], x.shape[2] * x.shape[3]};
  const Shape strides(positions.begin() + 2, positions.end());
  for_each_output(y, [&](std::int64_t n, std::int64_t k, const Shape& at, float& element) {
    const float* const plane = x.data + n * x.strides[0] + k * x.strides[1];
    float largest = -std::numeric_limits<float>::infinity();
    std::int64_t found = 0;
    bool first = true;
    for_each_tap(window, at, x, [&](const Shape& from) {
      const float candidate = plane[from[0] * x.strides[2] + from[1] * x.strides[3] + from[2] * x.strides[4]];
      if (!first && !(candidate > largest)) return;
      first = false;
      largest = candidate;
      found = from[0] * strides[0] + from[1] * strides[1] + from[2] * strides[2];
    });
    element = stored(static_cast<std::int32_t>(n * positions[0] + k * positions[1] + found));
  });
}

}  // namespace cohort::reference
