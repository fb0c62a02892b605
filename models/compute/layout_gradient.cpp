#include <vector>

#include "models/compute/checked_index.hpp"
#include "models/compute/ops.hpp"
#include "models/compute/packed.hpp"

namespace cohort::reference {
namespace {

/// Writes `values`, in logical order.
void put_all(const std::vector<double>& values, const Tensor& y) {
  std::size_t next = 0;
  for_each_index<1>(y.shape, {y.strides}, [&](const auto& at) { y.data[at[0]] = static_cast<float>(values[next++]); });
}

/// Gives each element of dy to the elements of x that its position was made of.
class Spread {
 public:
  Spread(const ResizeGradient& op, const ConstTensor& dy) : dy_(dy), x_strides_(row_major_strides(op.shape)) {
    for (std::size_t d = 0; d < op.shape.size(); ++d) taps_.push_back(resize_taps(op.resize, d, op.shape[d]));
    sums_.resize(static_cast<std::size_t>(element_count(op.shape)), 0.0);
  }

  const std::vector<double>& run() {
    walk(0, dy_.data, 0, 1);
    return sums_;
  }

 private:
  void walk(std::size_t axis, const float* from, std::int64_t to, double weight) {
    if (axis == dy_.rank()) {
      sums_[static_cast<std::size_t>(to)] += weight * static_cast<double>(*from);
      return;
    }
    for (std::int64_t i = 0; i < dy_.shape[axis]; ++i) {
      for (const ResizeTap& tap : taps_[axis][static_cast<std::size_t>(i)])
        walk(axis + 1, from + i * dy_.strides[axis], to + tap.at * x_strides_[axis], weight * tap.weight);
    }
  }

  const ConstTensor& dy_;
  Shape x_strides_;
  std::vector<std::vector<std::vector<ResizeTap>>> taps_;  ///< by axis, then position of dy
  std::vector<double> sums_;
};

}  // namespace

void compute(const Pack& op, Inputs inputs, const Tensor& y) {
  fill(y, 0);
  for (std::size_t i = 0; i < inputs.size(); ++i) copy(inputs[i], part_of(y, op.offsets[i], inputs[i].shape));
}

void compute(const Unpack& op, Inputs inputs, const Tensor& y) { copy(part_of(inputs[0], op.offset, op.shape), y); }

void compute(const GatherGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& indices = inputs[0];
  const ConstTensor& dy = inputs[1];
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape strides = row_major_strides(y.shape);
  std::vector<double> sums(static_cast<std::size_t>(element_count(y.shape)), 0.0);
  // Axes of dy: those of x before `axis`, those of the indices, those of x behind it.
  const auto first = dy.strides.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape picked(first, first + static_cast<std::ptrdiff_t>(indices.rank()));
  Shape rest = dy.strides;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis),
             rest.begin() + static_cast<std::ptrdiff_t>(axis + indices.rank()));
  for_each_index<2>(indices.shape, {indices.strides, picked}, [&](const auto& from) {
    double* const to = sums.data() + checked_index(indices.data[from[0]], op.extent) * strides[axis];
    for_each_index<2>(without(y.shape, axis), {rest, without(strides, axis)},
                      [&](const auto& at) { to[at[1]] += static_cast<double>(dy.data[from[1] + at[0]]); });
  });
  put_all(sums, y);
}

void compute(const TensorSliceGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& dy = inputs[0];
  fill(y, 0);
  Tensor taken{y.data, dy.shape, y.strides};
  for (std::size_t d = 0; d < dy.rank(); ++d) {
    taken.data += op.start[d] * y.strides[d];
    taken.strides[d] *= op.step[d];
  }
  add(dy, taken);
}

void compute(const ResizeGradient& op, Inputs inputs, const Tensor& y) { put_all(Spread(op, inputs[0]).run(), y); }

}  // namespace cohort::reference
