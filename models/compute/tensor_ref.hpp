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

/// Dimensions that are walked, the outermost first: those of one entry left out, and made one with the next
/// where no operand can tell them apart.
template <std::size_t kOperands>
struct Walk {
  Shape extents;
  std::array<Shape, kOperands> steps;

  Walk(const Shape& shape, const std::array<Shape, kOperands>& strides) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      bool joins = !extents.empty();
      for (std::size_t i = 0; joins && i < kOperands; ++i) joins = steps[i].back() == strides[i][d] * shape[d];
      if (!joins) extents.push_back(1);
      extents.back() *= shape[d];
      for (std::size_t i = 0; i < kOperands; ++i) {
        if (!joins) steps[i].push_back(0);
        steps[i].back() = strides[i][d];
      }
    }
  }
};

/// Calls visit(offsets) for every index of `shape` in logical order; offsets[i] is where the index
/// lies with strides[i].
template <std::size_t kOperands, class Visit>
void for_each_index(const Shape& shape, const std::array<Shape, kOperands>& strides, Visit visit) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  const Walk<kOperands> walk(shape, strides);
  const std::size_t outer = walk.extents.empty() ? 0 : walk.extents.size() - 1;
  const std::int64_t run = walk.extents.empty() ? 1 : walk.extents[outer];
  std::array<std::int64_t, kOperands> step{};
  for (std::size_t i = 0; i < kOperands; ++i) step[i] = walk.extents.empty() ? 0 : walk.steps[i][outer];
  Shape index(outer, 0);
  std::array<std::int64_t, kOperands> first{};
  while (true) {
    std::array<std::int64_t, kOperands> offsets = first;
    for (std::int64_t k = 0; k < run; ++k) {
      visit(offsets);
      for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += step[i];
    }
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == walk.extents[d - 1]) {
      index[d - 1] = 0;
      for (std::size_t i = 0; i < kOperands; ++i) first[i] -= walk.steps[i][d - 1] * (walk.extents[d - 1] - 1);
      --d;
    }
    if (d == 0) return;
    for (std::size_t i = 0; i < kOperands; ++i) first[i] += walk.steps[i][d - 1];
  }
}

/// `shape` without dimension `axis`.
inline Shape without(const Shape& shape, std::size_t axis) {
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape rest(shape.begin(), at);
  rest.insert(rest.end(), at + 1, shape.end());
  return rest;
}

/// Entry `index` of the leading axis.
template <class Element>
TensorRef<Element> slice(const TensorRef<Element>& tensor, std::int64_t index) {
  return {tensor.data + index * tensor.strides[0], without(tensor.shape, 0), without(tensor.strides, 0)};
}

/// Calls visit(slice of each) for each entry of the leading axis where `stacked`, else once with all as they are.
template <class Visit, class... Tensors>
void for_each_model(bool stacked, std::int64_t models, Visit visit, const Tensors&... tensors) {
  if (!stacked) return visit(tensors...);
  for (std::int64_t model = 0; model < models; ++model) visit(slice(tensors, model)...);
}

}  // namespace cohort::reference
