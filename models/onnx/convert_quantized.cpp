// Quantised ops, on float32 tensors that hold the whole numbers: sums of products of 8-bit numbers are exact in it up
// to 2^24, and beyond that rounded as any float32 sum is.

#include <algorithm>
#include <optional>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/quantized_values.hpp"

namespace cohort::onnx {

namespace {

/// The numbers of a quantised type.
struct Levels {
  float least = 0, most = 255;
};

Result<Levels> levels_of_type(std::int64_t type) {
  const std::optional<Range> range = range_of(type);
  if (!range || range->bits > 16)
    return fail(ErrorCode::kInvalidInput, "quantises to type {}; supported are uint8, int8, uint16 and int16", type);
  const auto count = static_cast<float>(1 << range->bits);
  return range->is_signed ? Levels{-count / 2, count / 2 - 1} : Levels{0, count - 1};
}

/// The type is that of the zero points, input `zero_point`; without any uint8, or what attribute output_dtype says.
Result<Levels> levels_of(NodeImport& node, std::size_t zero_point) {
  COHORT_TRY(const std::int64_t given, node.integer("output_dtype", 0));
  if (given != 0) return levels_of_type(given);
  if (!node.has_input(zero_point)) return Levels{};
  const Constant* const zero_points = node.constant(zero_point);
  const std::int64_t type = zero_points != nullptr ? zero_points->type : node.whole_type(zero_point);
  if (type == 0)
    return fail(ErrorCode::kInvalidInput, "input {} (zero point) must be of a known type, which says the levels",
                zero_point);
  return levels_of_type(type);
}

Result<TensorId> clipped(NodeImport& node, std::string_view suffix, TensorId x, const Levels& levels) {
  return node.emit(suffix, Activation{ActivationKind::kClip, levels.least, levels.most}, {x});
}

/// The node's result: the levels of `x`, whose scales and zero points are inputs `scale` and `zero_point`.
Result<void> set_levels(NodeImport& node, TensorId x, std::size_t scale, std::size_t zero_point, std::size_t axis) {
  COHORT_TRY(const Levels levels, levels_of(node, zero_point));
  const Shape shape = node.shape_of(x);
  COHORT_TRY(const TensorId step, parameter_over(node, scale, "scale", shape, axis));
  COHORT_TRY(TensorId y, binary(node, "level", BinaryKind::kDiv, x, step));
  COHORT_TRY(y, node.emit("rounded", Activation{ActivationKind::kRound}, {y}));
  const Constant* const zero_points = node.constant(zero_point);
  if (node.has_input(zero_point) && (zero_points == nullptr || !is_zero(floats_of(*zero_points)))) {
    COHORT_TRY(const TensorId zero, parameter_over(node, zero_point, "zero_point", shape, axis));
    COHORT_TRY(y, binary(node, "moved", BinaryKind::kAdd, y, zero));
  }
  COHORT_TRY(y, clipped(node, "", y, levels));
  node.set_result(y);
  return {};
}

/// The axis that a node's scales belong to; any where there is one scale.
Result<std::size_t> axis_of_scales(NodeImport& node, const Shape& x, const Shape& scales) {
  COHORT_TRY(const std::int64_t axis, node.integer("axis", 1));
  COHORT_TRY(const std::int64_t block_size, node.integer("block_size", 0));
  if (block_size != 0)
    return fail(ErrorCode::kInvalidInput, "block_size is supported where all is constant only, and must be 0, not {}",
                block_size);
  if (element_count(scales) == 1) return std::size_t{0};
  return normalize_axis(axis, x.size());
}

/// A tensor of levels among a node's inputs: where its scales and zero points are, and the axis that they belong to.
struct Quantized {
  std::size_t levels = 0, scale = 1, zero_point = 2;
  std::size_t axis = 0;
};

/// Whether what the levels stand for is constant, too.
bool is_constant(const NodeImport& node, const Quantized& x) {
  const auto is_vector_at_most = [&](std::size_t input) {
    const Constant* const constant = node.constant(input);
    return constant != nullptr && constant->shape.size() <= 1;
  };
  return node.constant(x.levels) != nullptr && is_vector_at_most(x.scale) &&
         (!node.has_input(x.zero_point) || is_vector_at_most(x.zero_point));
}

/// What constant levels stand for.
Result<std::vector<float>> dequantized_values(const NodeImport& node, const Quantized& x) {
  const Constant& levels = *node.constant(x.levels);
  const Constant& scale = *node.constant(x.scale);
  COHORT_CHECK(along_axis(scale.shape, "scale", levels.shape, x.axis));
  std::vector<float> zeros = {0};
  if (const Constant* const zero_points = node.constant(x.zero_point)) {
    COHORT_CHECK(along_axis(zero_points->shape, "zero_point", levels.shape, x.axis));
    zeros = floats_of(*zero_points);
  }
  return times_steps(distances(levels, zeros, x.axis), levels.shape, floats_of(scale), x.axis);
}

/// What the levels stand for. The op that computes it has suffix `suffix`.
Result<TensorId> dequantized(NodeImport& node, std::string_view suffix, const Quantized& x) {
  COHORT_TRY(const Shape shape, node.shape(x.levels));
  if (is_constant(node, x)) {
    COHORT_CHECK(node.claim(element_count(shape)));
    COHORT_TRY(std::vector<float> values, dequantized_values(node, x));
    return node.weight(x.levels, shape, std::move(values));
  }
  COHORT_TRY(const TensorId distance, centred(node, x.levels, x.zero_point, x.axis));
  COHORT_TRY(const TensorId scale, parameter_over(node, x.scale, "scale", shape, x.axis));
  return binary(node, suffix, BinaryKind::kMul, distance, scale);
}

/// A bias in units of the product of two scales, inputs of the node, as a number of its own.
Result<TensorId> bias_of_levels(NodeImport& node, std::size_t bias, std::size_t scale, std::size_t scale_of_weights) {
  const Constant* const levels = node.constant(bias);
  const Constant* const first = node.constant(scale);
  const Constant* const second = node.constant(scale_of_weights);
  if (levels != nullptr && first != nullptr && second != nullptr) {
    COHORT_CHECK(along_axis(second->shape, "scale", levels->shape, 0));
    std::vector<float> steps = floats_of(*second);
    const float factor = floats_of(*first).front();
    for (float& step : steps) step = factor * step;
    return scaled_constant(node, bias, floats_of(*levels), steps, 0);
  }
  COHORT_TRY(const TensorId of_x, node.tensor(scale));
  COHORT_TRY(const TensorId of_w, node.tensor(scale_of_weights));
  COHORT_TRY(const TensorId step, binary(node, "step", BinaryKind::kMul, of_x, of_w));
  COHORT_TRY(const TensorId whole, as_float(node, bias));
  return binary(node, "bias", BinaryKind::kMul, whole, step);
}

Result<void> expect_one_value(NodeImport& node, std::size_t input, std::string_view what) {
  COHORT_TRY(const Shape shape, node.shape(input));
  if (element_count(shape) == 1) return {};
  return fail(ErrorCode::kInvalidInput, "input {} ({}) must hold one value, not {}", input, what, to_string(shape));
}

/// The difference of two levels, so that 255 of them span x and 0; 1 where x is 0.
Result<TensorId> dynamic_scale(NodeImport& node, TensorId low, TensorId high, TensorId zero) {
  COHORT_TRY(const TensorId range, binary(node, "range", BinaryKind::kSub, high, low));
  COHORT_TRY(const TensorId step, binary(node, "step", BinaryKind::kDiv, range, node.scalar("levels", 255)));
  COHORT_TRY(const TensorId is_flat, binary(node, "is_flat", BinaryKind::kEqual, range, zero));
  return node.emit("scale", Select{}, {is_flat, node.scalar("one", 1), step});
}

}  // namespace

Result<void> convert_dynamic_quantize(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const TensorId x, node.tensor(0));
  Reduce smallest{ReduceKind::kMin, {}, false};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) smallest.axes.push_back(static_cast<std::int64_t>(axis));
  Reduce largest = smallest;
  largest.kind = ReduceKind::kMax;
  const TensorId zero = node.scalar("zero", 0);
  COHORT_TRY(TensorId low, node.emit("smallest", std::move(smallest), {x}));
  COHORT_TRY(low, binary(node, "low", BinaryKind::kMin, low, zero));
  COHORT_TRY(TensorId high, node.emit("largest", std::move(largest), {x}));
  COHORT_TRY(high, binary(node, "high", BinaryKind::kMax, high, zero));
  COHORT_TRY(const TensorId scale, dynamic_scale(node, low, high, zero));
  COHORT_TRY(TensorId zero_point, binary(node, "low_level", BinaryKind::kDiv, low, scale));
  COHORT_TRY(zero_point, node.emit("level_of_zero", Activation{ActivationKind::kNeg}, {zero_point}));
  COHORT_TRY(zero_point, clipped(node, "clipped_level", zero_point, Levels{}));
  COHORT_TRY(zero_point, node.emit("zero_point", Activation{ActivationKind::kRound}, {zero_point}));
  COHORT_TRY(TensorId y, binary(node, "level", BinaryKind::kDiv, x, scale));
  COHORT_TRY(y, node.emit("rounded", Activation{ActivationKind::kRound}, {y}));
  COHORT_TRY(y, binary(node, "moved", BinaryKind::kAdd, y, zero_point));
  COHORT_TRY(y, clipped(node, "", y, Levels{}));
  node.set_result(y, 0);
  node.set_result(scale, 1);
  node.set_result(zero_point, 2);
  return {};
}

Result<void> convert_quantize(NodeImport& node) {
  node.ignore("saturate");   // of 8-bit floating point
  node.ignore("precision");  // of the division
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const Shape scales, node.shape(1));
  COHORT_TRY(const std::size_t axis, axis_of_scales(node, shape, scales));
  COHORT_TRY(const TensorId x, node.tensor(0));
  return set_levels(node, x, 1, 2, axis);
}

Result<void> convert_dequantize(NodeImport& node) {
  node.ignore("output_dtype");
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const Shape scales, node.shape(1));
  COHORT_TRY(const std::size_t axis, axis_of_scales(node, shape, scales));
  COHORT_TRY(const TensorId y, dequantized(node, "", {0, 1, 2, axis}));
  node.set_result(y);
  return {};
}

// Ops from levels to levels, as what QuantizeLinear, DequantizeLinear and an op on floats compute: only the rounding of
// their sums differs from that of whole numbers, and what a quantiser writes in either form becomes the same ops.
// Inputs: both operands, each with its scale and zero point, then scale and zero point of the result.

Result<void> convert_qlinear_conv(NodeImport& node) {
  constexpr std::size_t kW = 3, kBias = 8;
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Convolution convolution, convolution_of(node, x, kW));
  COHORT_CHECK(expect_one_value(node, 1, "scale"));
  COHORT_CHECK(expect_one_value(node, 6, "scale of the result"));
  COHORT_TRY(const TensorId image, dequantized(node, "x", {0, 1, 2}));
  COHORT_TRY(const TensorId kernels, dequantized(node, "w", {kW, kW + 1, kW + 2}));
  std::vector<TensorId> inputs = {image, kernels};
  if (node.has_input(kBias)) {
    COHORT_TRY(const TensorId bias, bias_of_levels(node, kBias, 1, kW + 1));
    inputs.push_back(bias);
  }
  COHORT_TRY(const TensorId y, node.emit("sum", std::move(convolution), std::move(inputs)));
  return set_levels(node, y, 6, 7, 1);
}

Result<void> convert_qlinear_matmul(NodeImport& node) {
  constexpr std::size_t kB = 3;
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(kB));
  COHORT_CHECK(expect_matrices(a, b));
  COHORT_CHECK(expect_one_value(node, 6, "scale of the result"));
  COHORT_TRY(const TensorId left, dequantized(node, "a", {0, 1, 2, a.size() - 2}));
  const Quantized matrix{kB, kB + 1, kB + 2, b.size() - 1};
  if (b.size() == 2 && is_constant(node, matrix)) {
    COHORT_CHECK(node.claim(element_count(b)));
    COHORT_TRY(const std::vector<float> values, dequantized_values(node, matrix));
    COHORT_TRY(const TensorId w, matrix_of_rows(node, kB, values));
    COHORT_TRY(const TensorId y, product_of_rows(node, "sum", left, {w}));
    return set_levels(node, y, 6, 7, node.shape_of(y).size() - 1);
  }
  COHORT_TRY(const TensorId right, dequantized(node, "b", matrix));
  COHORT_TRY(const TensorId y, node.emit("sum", MatMul{}, {left, right}));
  return set_levels(node, y, 6, 7, node.shape_of(y).size() - 1);
}

}  // namespace cohort::onnx
