#include <algorithm>
#include <limits>
#include <vector>

#include "models/compute/ops.hpp"
#include "models/compute/window_loops.hpp"

namespace cohort::reference {
namespace {

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

/// Calls visit(n, channel, spatial position, element) for every element of y.
template <class Visit>
void for_each_output(const Tensor& y, Visit visit) {
  for (std::int64_t n = 0; n < y.shape[0]; ++n) {
    for (std::int64_t k = 0; k < y.shape[1]; ++k) {
      float* const plane = y.data + n * y.strides[0] + k * y.strides[1];
      for_each_position(y, [&](const Shape& at) { visit(n, k, at, plane[offset_of(y, at)]); });
    }
  }
}

/// Part `part` of `count` equal ones along `axis`.
template <class Element>
TensorRef<Element> part_along(TensorRef<Element> tensor, std::size_t axis, std::int64_t part, std::int64_t count) {
  tensor.shape[axis] /= count;
  tensor.data += part * tensor.shape[axis] * tensor.strides[axis];
  return tensor;
}

ConstTensor entry_of(ConstTensor tensor, std::int64_t model) {
  tensor.data += model * tensor.strides[0];
  tensor.shape.erase(tensor.shape.begin());
  tensor.strides.erase(tensor.strides.begin());
  return tensor;
}

/// A convolution of each model, where parameters have a model axis; false where they have none.
template <class Op>
bool compute_models(Op op, Inputs inputs, const Tensor& y) {
  if (inputs[1].rank() == inputs[0].rank()) return false;
  const std::int64_t models = inputs[1].shape[0];
  const bool shared = op.groups % models != 0;
  if (!shared) op.groups /= models;
  for (std::int64_t m = 0; m < models; ++m) {
    std::vector<ConstTensor> own{shared ? inputs[0] : part_along(inputs[0], 1, m, models)};
    for (std::size_t i = 1; i < inputs.size(); ++i) own.push_back(entry_of(inputs[i], m));
    compute(op, own, part_along(y, 1, m, models));
  }
  return true;
}

}  // namespace

void compute(const Convolution& op, Inputs inputs, const Tensor& output) {
  if (compute_models(op, inputs, output)) return;
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
  if (compute_models(op, inputs, output)) return;
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
      const std::int64_t x_offset = offset_of(x, from);
      const std::int64_t w_offset = offset_of(w, tap);
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
      if (!std::isnan(largest) && !(plane[x_offset] <= largest)) largest = plane[x_offset];
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
      const float candidate = plane[offset_of(x, from)];
      if (!first && (std::isnan(largest) || candidate <= largest)) return;
      first = false;
      largest = candidate;
      found = from[0] * strides[0] + from[1] * strides[1] + from[2] * strides[2];
    });
    element = stored(static_cast<std::int32_t>(n * positions[0] + k * positions[1] + found));
  });
}

}  // namespace cohort::reference
