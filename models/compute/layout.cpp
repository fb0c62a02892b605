#include <vector>

#include "models/compute/checked_index.hpp"
#include "models/compute/ops.hpp"
#include "models/padding.hpp"

namespace cohort::reference {
namespace {

std::size_t position(std::int64_t axis) { return static_cast<std::size_t>(axis); }

/// Copies x to y, element by element of y; `from[axis][i]` is where index i of y's axis lies in x, negative:
/// nowhere, which gives `otherwise`.
class Mover {
 public:
  Mover(const ConstTensor& x, const Tensor& y, std::vector<Shape> from, float otherwise)
      : x_(x), y_(y), from_(std::move(from)), otherwise_(otherwise) {}

  void run() const { move(0, x_.data, y_.data, true); }

 private:
  void move(std::size_t axis, const float* from, float* to, bool inside) const {
    if (axis == y_.rank()) {
      *to = inside ? *from : otherwise_;
      return;
    }
    for (std::int64_t i = 0; i < y_.shape[axis]; ++i) {
      const std::int64_t at = from_[axis][position(i)];
      move(axis + 1, at < 0 ? from : from + at * x_.strides[axis], to + i * y_.strides[axis], inside && at >= 0);
    }
  }

  const ConstTensor& x_;
  const Tensor& y_;
  std::vector<Shape> from_;
  float otherwise_;
};

}  // namespace

void compute(const Concat& op, Inputs inputs, const Tensor& y) {
  const auto axis = position(op.axis);
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

void compute(const Transpose& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  Shape strides;
  for (const std::int64_t axis : op.permutation) strides.push_back(x.strides[position(axis)]);
  copy({x.data, y.shape, std::move(strides)}, y);
}

void compute(const TensorSlice& op, Inputs inputs, const Tensor& y) {
  ConstTensor x{inputs[0].data, y.shape, inputs[0].strides};
  for (std::size_t d = 0; d < x.rank(); ++d) {
    x.data += op.start[d] * x.strides[d];
    x.strides[d] *= op.step[d];
  }
  copy(x, y);
}

void compute(const Pad& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  std::vector<Shape> from(y.rank());
  for (std::size_t d = 0; d < y.rank(); ++d) from[d] = padded_from(op, d, x.shape[d]);
  const bool is_float = op.element == ElementType::kFloat32;
  Mover(x, y, std::move(from), is_float ? op.value : stored(static_cast<std::int32_t>(op.value))).run();
}

void compute(const Gather& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const ConstTensor& indices = inputs[1];
  const auto axis = position(op.axis);
  const auto split = [axis](const Shape& all, std::size_t width) {
    Shape rest = all;
    const auto first = rest.begin() + static_cast<std::ptrdiff_t>(axis);
    rest.erase(first, first + static_cast<std::ptrdiff_t>(width));
    return rest;
  };
  const auto first = y.strides.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape picked(first, first + static_cast<std::ptrdiff_t>(indices.rank()));
  const Shape rest_shape = without(x.shape, axis);
  const Shape from = without(x.strides, axis);
  const Shape to = split(y.strides, indices.rank());
  for_each_index<2>(indices.shape, {indices.strides, picked}, [&](const auto& at) {
    const std::int64_t index = checked_index(indices.data[at[0]], x.shape[axis]);
    copy({x.data + index * x.strides[axis], rest_shape, from}, {y.data + at[1], rest_shape, to});
  });
}

void compute(const Scatter& op, Inputs inputs, const Tensor& y) {
  const ConstTensor &x = inputs[0], &indices = inputs[1], &updates = inputs[2];
  copy(x, y);
  const Shape places = broadcast_strides(indices.shape, indices.strides, updates.shape);
  const Binary reduction{op.reduction.value_or(BinaryKind::kAdd), op.element};
  Shape others = y.strides;  // where an update goes but for its place
  others[1] = 0;
  for_each_index<3>(updates.shape, {updates.strides, places, others}, [&](const auto& at) {
    float& to = y.data[at[2] + checked_index(indices.data[at[1]], y.shape[1]) * y.strides[1]];
    const float update = updates.data[at[0]];
    to = op.reduction ? combine(reduction, to, update) : update;
  });
}

void compute(const Expand&, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  copy({x.data, y.shape, broadcast_strides(x.shape, x.strides, y.shape)}, y);
}

void compute(const Tile&, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  std::vector<Shape> from(y.rank());
  for (std::size_t d = 0; d < y.rank(); ++d) {
    for (std::int64_t i = 0; i < y.shape[d]; ++i) from[d].push_back(i % x.shape[d]);
  }
  Mover(x, y, std::move(from), 0).run();
}

}  // namespace cohort::reference
