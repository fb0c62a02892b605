#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "models/compute/ops.hpp"

namespace cohort::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What one output element is made of, element by element.
class Accumulator {
 public:
  explicit Accumulator(ReduceKind kind) : kind_(kind), value_(start(kind)) {}

  void take(double x) {
    ++count_;
    switch (kind_) {
      case ReduceKind::kSum:
      case ReduceKind::kMean:
      case ReduceKind::kLogSum:
        value_ += x;
        break;
      case ReduceKind::kL1:
        value_ += std::abs(x);
        break;
      case ReduceKind::kL2:
      case ReduceKind::kSumOfSquares:
        value_ += x * x;
        break;
      case ReduceKind::kMax:
        value_ = std::isnan(x) || x > value_ ? x : value_;
        break;
      case ReduceKind::kMin:
        value_ = std::isnan(x) || x < value_ ? x : value_;
        break;
      case ReduceKind::kProduct:
        value_ *= x;
        break;
      case ReduceKind::kLogSumExp:
        take_exponent(x);
        break;
    }
  }

  [[nodiscard]] double result() const {
    switch (kind_) {
      case ReduceKind::kMean:
        return value_ / static_cast<double>(count_);
      case ReduceKind::kL2:
        return std::sqrt(value_);
      case ReduceKind::kLogSum:
        return std::log(value_);
      case ReduceKind::kLogSumExp:
        return largest_ + std::log(value_);
      default:
        return value_;
    }
  }

 private:
  static double start(ReduceKind kind) {
    if (kind == ReduceKind::kMax) return -kInfinity;
    if (kind == ReduceKind::kMin) return kInfinity;
    return kind == ReduceKind::kProduct ? 1 : 0;
  }

  /// Keeps the sum of exp(x - largest), so that it does not overflow.
  void take_exponent(double x) {
    if (x <= largest_) {
      if (x != -kInfinity) value_ += x == largest_ ? 1 : std::exp(x - largest_);  // inf - inf would be NaN
      return;
    }
    value_ = (value_ == 0 ? 0 : value_ * std::exp(largest_ - x)) + 1;
    largest_ = x;
  }

  ReduceKind kind_;
  double value_;
  double largest_ = -kInfinity;
  std::int64_t count_ = 0;
};

/// `all`, split into the entries of axes that stay and those of axes in `axes`.
struct Split {
  Shape kept, reduced;
};
Split split(const Shape& all, const std::vector<std::int64_t>& axes) {
  Split result;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
    (is_reduced ? result.reduced : result.kept).push_back(all[d]);
  }
  return result;
}

}  // namespace

void compute(const Reduce& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const Split shape = split(x.shape, op.axes);
  const Split strides = split(x.strides, op.axes);
  const Shape to = op.keep_axes ? split(y.strides, op.axes).kept : y.strides;
  for_each_index<2>(shape.kept, {strides.kept, to}, [&](const auto& at) {
    Accumulator accumulator(op.kind);
    const float* const first = x.data + at[0];
    for_each_index<1>(shape.reduced, {strides.reduced},
                      [&](const auto& inner) { accumulator.take(static_cast<double>(first[inner[0]])); });
    y.data[at[1]] = static_cast<float>(accumulator.result());
  });
}

namespace {

void compute_several(const ArgMax& op, const ConstTensor& x, const Tensor& y) {
  const auto axis = static_cast<std::size_t>(op.axis);
  std::vector<std::int32_t> order(static_cast<std::size_t>(x.shape[axis]));
  for_each_index<2>(without(x.shape, axis), {without(x.strides, axis), without(y.strides, axis)}, [&](const auto& at) {
    const float* const lane = x.data + at[0];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t i, std::int32_t j) {
      const float a = lane[i * x.strides[axis]], b = lane[j * x.strides[axis]];
      if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
      return op.smallest ? a < b : a > b;
    });
    for (std::int64_t i = 0; i < op.count; ++i)
      y.data[at[1] + i * y.strides[axis]] = stored(order[static_cast<std::size_t>(i)]);
  });
}

}  // namespace

void compute(const ArgMax& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  if (op.count > 1) return compute_several(op, x, y);
  const auto axis = static_cast<std::size_t>(op.axis);
  const Shape to = op.keep_axis ? without(y.strides, axis) : y.strides;
  for_each_index<2>(without(x.shape, axis), {without(x.strides, axis), to}, [&](const auto& at) {
    const float* const lane = x.data + at[0];
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < x.shape[axis]; ++i) {
      const float candidate = lane[i * x.strides[axis]];
      const float leader = lane[best * x.strides[axis]];
      // As numpy does, the first NaN counts as largest, and as smallest.
      const bool is_ahead = op.smallest ? candidate < leader : candidate > leader;
      const bool beats = !std::isnan(leader) && (std::isnan(candidate) || is_ahead);
      if (beats || (op.last && candidate == leader)) best = i;
    }
    y.data[at[1]] = stored(static_cast<std::int32_t>(best));
  });
}

}  // namespace cohort::reference
