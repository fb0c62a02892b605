#pragma once

#include <span>

#include "models/compute/tensor_ref.hpp"

/// Parts of packs, which lie behind one another in one tensor of one axis.
namespace cohort::reference {

/// The part of `shape` that begins at element `offset` of a pack, or of the first row of a state.
template <class Element>
TensorRef<Element> part_of(const TensorRef<Element>& pack, std::int64_t offset, const Shape& shape) {
  const std::int64_t step = pack.strides.back();
  TensorRef<Element> part{pack.data + offset * step, shape, row_major_strides(shape)};
  for (std::int64_t& stride : part.strides) stride *= step;
  return part;
}

/// Writes `values` from element `first` on of a pack.
inline void put(const Tensor& pack, std::int64_t first, std::span<const double> values) {
  float* to = pack.data + first * pack.strides.back();
  for (const double value : values) {
    *to = static_cast<float>(value);
    to += pack.strides.back();
  }
}

inline void fill(const Tensor& y, float value) {
  for_each_index<1>(y.shape, {y.strides}, [&](const auto& at) { y.data[at[0]] = value; });
}

/// Elements in logical order.
inline std::vector<double> dense(const ConstTensor& x) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(element_count(x.shape)));
  for_each_index<1>(x.shape, {x.strides},
                    [&](const auto& at) { values.push_back(static_cast<double>(x.data[at[0]])); });
  return values;
}

}  // namespace cohort::reference
