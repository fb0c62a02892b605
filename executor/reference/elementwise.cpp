#include <algorithm>
#include <cmath>

#include "executor/reference/ops.hpp"

namespace cohort::reference {
namespace {

float activate(const Activation& op, float x) {
  switch (op.kind) {
    case ActivationKind::kRelu:
      return std::max(x, 0.0F);
    case ActivationKind::kLeakyRelu:
      return x >= 0 ? x : op.alpha * x;
    case ActivationKind::kElu:
      return x >= 0 ? x : op.alpha * std::expm1(x);
    case ActivationKind::kSigmoid:
      return 1.0F / (1.0F + std::exp(-x));
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kClip:
      return std::min(std::max(x, op.alpha), op.beta);
  }
  return x;
}

float combine(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
  }
  return a;
}

/// Strides with which `x` repeats over `shape` by numpy's rule: missing leading dimensions and
/// extents of one repeat.
Shape broadcast_strides(const ConstTensor& x, const Shape& shape) {
  Shape strides(shape.size(), 0);
  const std::size_t missing = shape.size() - x.rank();
  for (std::size_t d = 0; d < x.rank(); ++d) strides[missing + d] = x.shape[d] == 1 ? 0 : x.strides[d];
  return strides;
}

}  // namespace

void compute(const Activation& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  for_each_index<2>(y.shape, {x.strides, y.strides},
                    [&](const auto& at) { y.data[at[1]] = activate(op, x.data[at[0]]); });
}

void compute(const Binary& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& a = inputs[0];
  const ConstTensor& b = inputs[1];
  for_each_index<3>(y.shape, {broadcast_strides(a, y.shape), broadcast_strides(b, y.shape), y.strides},
                    [&](const auto& at) { y.data[at[2]] = combine(op.kind, a.data[at[0]], b.data[at[1]]); });
}

void compute(const Concat& op, Inputs inputs, const Tensor& y) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::int64_t begin = 0;
  for (const ConstTensor& x : inputs) {
    copy(x, {y.data + begin * y.strides[axis], x.shape, y.strides});
    begin += x.shape[axis];
  }
}

void compute(const Reshape&, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  if (x.shape == y.shape) return copy(x, y);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(element_count(x.shape)));
  for_each_index<1>(x.shape, {x.strides}, [&](const auto& at) { values.push_back(x.data[at[0]]); });
  std::size_t next = 0;
  for_each_index<1>(y.shape, {y.strides}, [&](const auto& at) { y.data[at[0]] = values[next++]; });
}

void add(const ConstTensor& x, const Tensor& y) {
  for_each_index<2>(y.shape, {x.strides, y.strides}, [&](const auto& at) { y.data[at[1]] += x.data[at[0]]; });
}

void copy(const ConstTensor& x, const Tensor& y) {
  for_each_index<2>(x.shape, {x.strides, y.strides}, [&](const auto& at) { y.data[at[1]] = x.data[at[0]]; });
}

}  // namespace cohort::reference
