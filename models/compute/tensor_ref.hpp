#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "models/shape.hpp"

namespace cohort::reference {

/// Strided memory seen as a tensor; strides are in elements. int32 elements lie there by their bits.
template <class Element>
struct TensorRef {
  Element* data = nullptr;
  Shape shape;
  Shape strides;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
};
using ConstTensor = TensorRef<const float>;
using Tensor = TensorRef<float>;

/// An int32 element as it lies in memory, and back.
inline float stored(std::int32_t value) { return std::bit_cast<float>(value); }
inline std::int32_t whole(float element) { return std::bit_cast<std::int32_t>(element); }

/// Strides of a dense tensor of `shape` in logical order.
inline Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Strides with which a tensor repeats over `target` by numpy's rule: missing leading dimensions and
/// extents of one repeat.
inline Shape broadcast_strides(const Shape& shape, const Shape& strides, const Shape& target) {
  Shape result(target.size(), 0);
  const std::size_t missing = target.size() - shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d) result[missing + d] = shape[d] == 1 ? 0 : strides[d];
  return result;
}

/// Calls visit(offsets) for every index of `shape` in logical order; offsets[i] is where the index
/// lies with strides[i].
template <std::size_t kOperands, class Visit>
void for_each_index(const Shape& shape, const std::array<Shape, kOperands>& strides, Visit visit) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  Shape index(shape.size(), 0);
  std::array<std::int64_t, kOperands> offsets{};
  while (true) {
    visit(offsets);
    std::size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1]) {
      index[d - 1] = 0;
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] -= strides[i][d - 1] * (shape[d - 1] - 1);
      --d;
    }
    if (d == 0) return;
    for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += strides[i][d - 1];
  }
}

/// `shape` without dimension `axis`.
inline Shape without(const Shape& shape, std::size_t axis) {
  Shape rest = shape;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  return rest;
}

}  // namespace cohort::reference
