#include <algorithm>

#include "models/training/rules.hpp"

namespace cohort::training {
namespace {

std::int64_t reach(const Window& window, std::size_t i) { return window.dilation[i] * (window.kernel[i] - 1) + 1; }

/// Sum of dy [N, K, ...] over everything but the channels, [K].
TensorId channel_sums(OpGradient& at, TensorId dy) {
  Reduce sum{ReduceKind::kSum, {0}, false};
  for (std::size_t d = 2; d < at.shape(dy).size(); ++d) sum.axes.push_back(static_cast<std::int64_t>(d));
  return at.add("db", std::move(sum), {dy});
}

/// Gradients by weight and bias of a product with inputs x, w and perhaps b. `attributes` gives both at once.
template <class WeightGradient>
void give_parameters(OpGradient& at, WeightGradient attributes, TensorId x, TensorId dy) {
  attributes.bias = at.input_count() > 2 && at.wants(2);
  const TensorId pack = at.add("dw", attributes, {x, dy});
  at.give_part(1, pack, 0);
  if (attributes.bias) at.give_part(2, pack, pack_place(element_count(at.x_shape(1))));
}

bool wants_bias(const OpGradient& at) { return at.input_count() > 2 && at.wants(2); }

}  // namespace

Result<void> gradient(const Convolution& op, OpGradient& at) {
  const TensorId dy = at.dy();
  if (at.wants(1)) {
    give_parameters(at, ConvolutionWeightGradient{op.window, op.groups}, at.x(0), dy);
  } else if (wants_bias(at)) {
    at.give(2, channel_sums(at, dy));
  }
  if (!at.wants(0)) return {};
  ConvTranspose back{op.window, {}, op.groups};
  for (std::size_t i = 0; i < op.window.kernel.size(); ++i) {
    // Rows at the end of x that no window reached.
    const std::int64_t reached = op.window.stride[i] * (at.y_shape()[i + 2] - 1) + reach(op.window, i) -
                                 op.window.pad_begin[i] - op.window.pad_end[i];
    back.output_pad.push_back(at.x_shape(0)[i + 2] - reached);
  }
  at.give(0, at.add("dx", std::move(back), {dy, at.x(1)}));
  return {};
}

/// What a transposed convolution makes of x a convolution makes of dy, and the other way round; pads may be negative
/// there, and y may have rows that nothing reached: those are cut off first.
Result<void> gradient(const ConvTranspose& op, OpGradient& at) {
  TensorId dy = at.dy();
  if (wants_bias(at)) at.give(2, channel_sums(at, dy));
  if (!at.wants(0) && !at.wants(1)) return {};
  Window window = op.window;
  const auto is_negative = [](std::int64_t pad) { return pad < 0; };
  const bool cuts = std::any_of(window.pad_begin.begin(), window.pad_begin.end(), is_negative) ||
                    std::any_of(window.pad_end.begin(), window.pad_end.end(), is_negative) ||
                    std::any_of(op.output_pad.begin(), op.output_pad.end(), [](std::int64_t pad) { return pad > 0; });
  if (cuts) {
    Pad pad;
    pad.begin = {0, 0};
    pad.end = {0, 0};
    for (std::size_t i = 0; i < window.kernel.size(); ++i) {
      pad.begin.push_back(window.pad_begin[i]);
      pad.end.push_back(window.pad_end[i] - op.output_pad[i]);
    }
    dy = at.add("dy.padded", std::move(pad), {dy});
    std::fill(window.pad_begin.begin(), window.pad_begin.end(), 0);
    std::fill(window.pad_end.begin(), window.pad_end.end(), 0);
  }
  if (at.wants(1)) at.give_part(1, at.add("dw", ConvolutionWeightGradient{window, op.groups}, {dy, at.x(0)}), 0);
  if (at.wants(0)) at.give(0, at.add("dx", Convolution{window, op.groups}, {dy, at.x(1)}));
  return {};
}

Result<void> gradient(const Pool& op, OpGradient& at) {
  const Shape x = at.x_shape(0);
  std::vector<TensorId> inputs{at.dy()};
  if (op.kind == PoolKind::kMax) inputs.push_back(at.x(0));
  at.give(0, at.add("dx", PoolGradient{op, {x.begin() + 2, x.end()}}, std::move(inputs)));
  return {};
}

Result<void> gradient(const Gemm& op, OpGradient& at) {
  if (op.stacked) return at.refuse();
  const TensorId dy = at.dy();
  if (at.wants(1)) {
    give_parameters(at, GemmWeightGradient{}, at.x(0), dy);
  } else if (wants_bias(at)) {
    at.give(2, channel_sums(at, dy));
  }
  if (!at.wants(0)) return {};
  const TensorId dx = at.add("dx", MatMul{}, {dy, at.x(1)});
  at.give(0, at.reshape("dx.shape", dx, at.x_shape(0)));
  return {};
}

namespace {

/// Sums over leading axes along which `i` was repeated.
void give_product(OpGradient& at, std::size_t i, TensorId product) { at.give_sum(i, product); }

/// With one matrix for a whole stack, which is then a single product: [.., M, K] as [..M, K].
TensorId rows_of(OpGradient& at, std::string_view suffix, TensorId x) {
  const Shape shape = at.shape(x);
  return at.reshape(suffix, x, {element_count(shape) / shape.back(), shape.back()});
}

}  // namespace

Result<void> gradient(const MatMul& op, OpGradient& at) {
  const TensorId dy = at.dy();
  const TensorId a = at.x(0);
  const TensorId b = at.x(1);
  if (at.wants(0)) {
    const TensorId da = op.transpose_a ? at.add("da", MatMul{op.transpose_b, true}, {b, dy})
                                       : at.add("da", MatMul{false, !op.transpose_b}, {dy, b});
    give_product(at, 0, da);
  }
  if (!at.wants(1)) return {};
  const bool one_for_all = at.x_shape(1).size() == 2 && at.x_shape(0).size() > 2 && !op.transpose_a;
  const TensorId rows = one_for_all ? rows_of(at, "a.rows", a) : a;
  const TensorId dy_rows = one_for_all ? rows_of(at, "dy.rows", dy) : dy;
  const TensorId db = op.transpose_b ? at.add("db", MatMul{true, op.transpose_a}, {dy_rows, rows})
                                     : at.add("db", MatMul{!op.transpose_a, false}, {rows, dy_rows});
  give_product(at, 1, db);
  return {};
}

}  // namespace cohort::training
