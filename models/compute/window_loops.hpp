#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "models/compute/tensor_ref.hpp"
#include "models/op_dense.hpp"

/// Loops over windows, which convolutions, pooling and their gradients share.
namespace cohort::reference {

/// A window over three spatial dimensions; fewer are preceded by ones.
struct Window3 {
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, pad_begin{}, pad_end{}, dilation{1, 1, 1};
};

inline void put_last(const std::vector<std::int64_t>& values, std::array<std::int64_t, 3>& into) {
  std::copy(values.begin(), values.end(), into.end() - static_cast<std::ptrdiff_t>(values.size()));
}

inline Window3 window3(const Window& window) {
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

/// Elements of the window at `at` that lie inside x and its padding.
inline std::int64_t padded_count(const Window3& window, const Shape& at, const ConstTensor& x) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t room = window.pad_begin[d] + x.shape[d + 2] + window.pad_end[d] - at[d] * window.stride[d];
    count *= std::clamp<std::int64_t>((room + window.dilation[d] - 1) / window.dilation[d], 0, window.kernel[d]);
  }
  return count;
}

/// Calls visit(spatial position) for every position of a tensor [N, C, D, H, W].
template <class Element, class Visit>
void for_each_position(const TensorRef<Element>& tensor, Visit visit) {
  Shape at(3, 0);
  for (at[0] = 0; at[0] < tensor.shape[2]; ++at[0]) {
    for (at[1] = 0; at[1] < tensor.shape[3]; ++at[1]) {
      for (at[2] = 0; at[2] < tensor.shape[4]; ++at[2]) visit(at);
    }
  }
}

/// Where spatial position `at` lies in a plane of it.
template <class Element>
std::int64_t offset_of(const TensorRef<Element>& tensor, const Shape& at) {
  return at[0] * tensor.strides[2] + at[1] * tensor.strides[3] + at[2] * tensor.strides[4];
}

}  // namespace cohort::reference
