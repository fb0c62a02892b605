#include <algorithm>
#include <cmath>
#include <vector>

#include "models/compute/ops.hpp"
#include "models/compute/packed.hpp"
#include "models/compute/statistics.hpp"

namespace cohort::reference {
namespace {

/// Elements that are normalised together: where they lie in x, dy and dx, and what scales them.
struct Lot {
  const float* x = nullptr;
  const float* dy = nullptr;
  Shape shape, x_strides, dy_strides;

  [[nodiscard]] std::int64_t count() const { return element_count(shape); }
  /// Calls visit(index in logical order, normalised x, dy).
  template <class Visit>
  void for_each(const Statistics& found, Visit visit) const {
    std::size_t index = 0;
    for_each_index<2>(shape, {x_strides, dy_strides}, [&](const auto& at) {
      const double normalised = (static_cast<double>(x[at[0]]) - found.mean) * found.scale;
      visit(index++, normalised, static_cast<double>(dy[at[1]]));
    });
  }
};

/// dx of a lot whose elements are multiplied by scale(index) after they are normalised.
template <class Scale>
void write_gradient(const Lot& lot, float epsilon, Scale scale, float* dx, const Shape& dx_strides) {
  const Statistics found = statistics(lot.x, lot.shape, lot.x_strides, epsilon);
  std::vector<double> deltas, normalised;
  double sum = 0;
  double product = 0;
  lot.for_each(found, [&](std::size_t i, double value, double dy) {
    deltas.push_back(dy * scale(i));
    normalised.push_back(value);
    sum += deltas.back();
    product += deltas.back() * value;
  });
  const auto count = static_cast<double>(lot.count());
  std::size_t next = 0;
  for_each_index<1>(lot.shape, {dx_strides}, [&](const auto& at) {
    const double centred = deltas[next] - sum / count - normalised[next] * product / count;
    dx[at[0]] = static_cast<float>(found.scale * centred);
    ++next;
  });
}

/// Calls visit(lot, offset of its outer index in y) for every lot of a LayerNormalization from `axis` on.
template <class Visit>
void for_each_layer(std::int64_t from_axis, const ConstTensor& x, const ConstTensor& dy, const Shape& y_strides,
                    Visit visit) {
  const auto axis = static_cast<std::size_t>(from_axis);
  Lot lot{nullptr, nullptr, part(x.shape, axis, false), part(x.strides, axis, false), part(dy.strides, axis, false)};
  for_each_index<3>(part(x.shape, axis, true),
                    {part(x.strides, axis, true), part(dy.strides, axis, true), part(y_strides, axis, true)},
                    [&](const auto& at) {
                      lot.x = x.data + at[0];
                      lot.dy = dy.data + at[1];
                      visit(lot, at[2]);
                    });
}

/// Calls visit(lot, sample, first channel) for every lot of a GroupNormalization.
template <class Visit>
void for_each_group(std::int64_t groups, const ConstTensor& x, const ConstTensor& dy, Visit visit) {
  const std::int64_t channels = x.shape[1] / groups;
  Lot lot{nullptr, nullptr, part(x.shape, 1, false), part(x.strides, 1, false), part(dy.strides, 1, false)};
  lot.shape[0] = channels;
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t first = 0; first < x.shape[1]; first += channels) {
      lot.x = x.data + n * x.strides[0] + first * x.strides[1];
      lot.dy = dy.data + n * dy.strides[0] + first * dy.strides[1];
      visit(lot, n, first);
    }
  }
}

/// Sums that become dscale and dshift.
struct ScaleAndShift {
  std::vector<double> scale, shift;

  explicit ScaleAndShift(std::int64_t count)
      : scale(static_cast<std::size_t>(count), 0.0), shift(static_cast<std::size_t>(count), 0.0) {}

  void add(std::size_t at, double normalised, double dy) {
    scale[at] += normalised * dy;
    shift[at] += dy;
  }
  void write(const Tensor& pack) const {
    fill(pack, 0);
    put(pack, 0, scale);
    put(pack, pack_place(static_cast<std::int64_t>(scale.size())), shift);
  }
};

}  // namespace

void compute(const LayerNormalizationGradient& op, Inputs inputs, const Tensor& y) {
  const std::vector<double> scale = dense(inputs[1]);
  const Shape inner = part(y.strides, static_cast<std::size_t>(op.axis), false);
  for_each_layer(op.axis, inputs[0], inputs[2], y.strides, [&](const Lot& lot, std::int64_t offset) {
    write_gradient(
        lot, op.epsilon, [&](std::size_t i) { return scale[i]; }, y.data + offset, inner);
  });
}

void compute(const LayerNormalizationWeightGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  ScaleAndShift sums(element_count(part(x.shape, static_cast<std::size_t>(op.axis), false)));
  for_each_layer(op.axis, x, inputs[1], x.strides, [&](const Lot& lot, std::int64_t) {
    const Statistics found = statistics(lot.x, lot.shape, lot.x_strides, op.epsilon);
    lot.for_each(found, [&](std::size_t i, double normalised, double dy) { sums.add(i, normalised, dy); });
  });
  sums.write(y);
}

void compute(const GroupNormalizationGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const std::vector<double> scale = dense(inputs[1]);
  const auto channels = static_cast<std::size_t>(x.shape[1] / op.groups);
  const bool per_group = inputs[1].shape[0] != x.shape[1];
  for_each_group(op.groups, x, inputs[2], [&](const Lot& lot, std::int64_t n, std::int64_t first) {
    const std::size_t positions = static_cast<std::size_t>(lot.count()) / channels;
    const auto scale_of = [&](std::size_t i) {
      const std::size_t channel = static_cast<std::size_t>(first) + i / positions;
      return scale[per_group ? channel / channels : channel];
    };
    write_gradient(lot, op.epsilon, scale_of, y.data + n * y.strides[0] + first * y.strides[1],
                   part(y.strides, 1, false));
  });
}

void compute(const GroupNormalizationWeightGradient& op, Inputs inputs, const Tensor& y) {
  const ConstTensor& x = inputs[0];
  const auto channels = static_cast<std::size_t>(x.shape[1] / op.groups);
  ScaleAndShift sums(op.per_group ? op.groups : x.shape[1]);
  for_each_group(op.groups, x, inputs[1], [&](const Lot& lot, std::int64_t, std::int64_t first) {
    const Statistics found = statistics(lot.x, lot.shape, lot.x_strides, op.epsilon);
    const std::size_t positions = static_cast<std::size_t>(lot.count()) / channels;
    lot.for_each(found, [&](std::size_t i, double normalised, double dy) {
      const std::size_t channel = static_cast<std::size_t>(first) + i / positions;
      sums.add(op.per_group ? channel / channels : channel, normalised, dy);
    });
  });
  sums.write(y);
}

void compute(const LocalResponseNormalizationGradient& op, Inputs inputs, const Tensor& y) {
  const LocalResponseNormalization& lrn = op.normalization;
  const ConstTensor& x = inputs[0];
  const ConstTensor& dy = inputs[1];
  const std::int64_t channels = x.shape[1];
  const std::int64_t before = (lrn.size - 1) / 2;
  const std::int64_t after = lrn.size - 1 - before;
  const double alpha = static_cast<double>(lrn.alpha) / static_cast<double>(lrn.size);
  const auto beta = static_cast<double>(lrn.beta);
  std::vector<double> scale(static_cast<std::size_t>(channels)), share(scale.size());
  const auto at_channel = [](std::int64_t c) { return static_cast<std::size_t>(c); };
  for_each_index<3>(
      without(x.shape, 1), {without(x.strides, 1), without(dy.strides, 1), without(y.strides, 1)}, [&](const auto& at) {
        const auto value = [&](std::int64_t c) { return static_cast<double>(x.data[at[0] + c * x.strides[1]]); };
        const auto delta = [&](std::int64_t c) { return static_cast<double>(dy.data[at[1] + c * dy.strides[1]]); };
        for (std::int64_t c = 0; c < channels; ++c) {
          double squares = 0;
          for (std::int64_t i = std::max<std::int64_t>(c - before, 0); i <= std::min(c + after, channels - 1); ++i)
            squares += value(i) * value(i);
          scale[at_channel(c)] = static_cast<double>(lrn.bias) + alpha * squares;
          share[at_channel(c)] = delta(c) * value(c) * std::pow(scale[at_channel(c)], -beta - 1);
        }
        for (std::int64_t c = 0; c < channels; ++c) {
          // Channels whose sums channel c is part of.
          double shares = 0;
          for (std::int64_t i = std::max<std::int64_t>(c - after, 0); i <= std::min(c + before, channels - 1); ++i)
            shares += share[at_channel(i)];
          const double direct = delta(c) * std::pow(scale[at_channel(c)], -beta);
          y.data[at[2] + c * y.strides[1]] = static_cast<float>(direct - 2 * alpha * beta * value(c) * shares);
        }
      });
}

}  // namespace cohort::reference
