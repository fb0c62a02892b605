// Quantised ops, on float32 tensors that hold the whole numbers: sums of products of 8-bit numbers are exact in it up
// to 2^24, and beyond that rounded as any float32 sum is.

#include <algorithm>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

bool is_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

/// The shape in which one value, or one for each entry of an axis, broadcasts over `shape`.
Result<Shape> along_axis(const Shape& values, std::string_view what, const Shape& shape, std::size_t axis) {
  const std::int64_t count = element_count(values);
  if (count == 1) return Shape{};
  const bool repeats = std::equal(values.begin(), values.end(), shape.begin(), shape.end(),
                                  [](std::int64_t a, std::int64_t b) { return a == 1 || a == b; });
  if (values.size() > 1 && repeats) return values;
  if (values.size() != 1 || count != shape[axis])
    return fail(ErrorCode::kInvalidInput, "{} has shape {} where axis {} of {} needs one value or {}", what,
                to_string(values), axis, to_string(shape), shape[axis]);
  Shape aligned(shape.size() - axis, 1);
  aligned[0] = count;
  return aligned;
}

/// Input `input`, a scale or zero points, so that it broadcasts over `shape`.
Result<TensorId> parameter(NodeImport& node, std::size_t input, std::string_view what, const Shape& shape,
                           std::size_t axis) {
  COHORT_TRY(const Shape given, node.shape(input));
  COHORT_TRY(Shape aligned, along_axis(given, what, shape, axis));
  if (const Constant* constant = node.constant(input)) {
    COHORT_CHECK(node.claim(element_count(aligned)));
    return node.weight(input, std::move(aligned), floats_of(*constant));
  }
  COHORT_TRY(const TensorId values, node.tensor(input));
  if (aligned == given) return values;
  return node.emit_reshape(what, values, std::move(aligned));
}

/// Constant whole numbers less their zero points, as a weight.
Result<TensorId> centred_constant(NodeImport& node, std::size_t input, const std::vector<float>& zero_points,
                                  std::size_t axis) {
  const Constant& constant = *node.constant(input);
  std::vector<float> values = floats_of(constant);
  COHORT_CHECK(node.claim(element_count(constant.shape)));
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < constant.shape.size(); ++i) inner *= static_cast<std::size_t>(constant.shape[i]);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zero_points[i / inner % zero_points.size()];
  return node.weight(input, constant.shape, std::move(values));
}

/// Input `input` less its zero points, input `zero_point`: one, or one for each entry of `axis`.
Result<TensorId> centred(NodeImport& node, std::size_t input, std::size_t zero_point, std::size_t axis) {
  COHORT_TRY(const Shape shape, node.shape(input));
  if (!node.has_input(zero_point)) return as_float(node, input);
  const std::string what = fmt::format("zero_point{}", input);
  const Constant* const zero_points = node.constant(zero_point);
  if (zero_points != nullptr) {
    COHORT_TRY(const Shape aligned, along_axis(zero_points->shape, what, shape, axis));
    const std::vector<float> values = floats_of(*zero_points);
    if (is_zero(values)) return as_float(node, input);
    const bool by_axis = aligned.empty() || zero_points->shape.size() == 1;
    if (by_axis && node.constant(input) != nullptr) return centred_constant(node, input, values, axis);
  }
  COHORT_TRY(const TensorId x, as_float(node, input));
  COHORT_TRY(const TensorId zero, parameter(node, zero_point, what, shape, axis));
  return binary(node, fmt::format("centred{}", input), BinaryKind::kSub, x, zero);
}

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

/// The node's result: x, in units of a level, rounded and moved by the zero points.
Result<void> set_levels(NodeImport& node, TensorId x, std::size_t zero_point, const Shape& shape, std::size_t axis) {
  COHORT_TRY(const Levels levels, levels_of(node, zero_point));
  COHORT_TRY(TensorId y, node.emit("rounded", Activation{ActivationKind::kRound}, {x}));
  const Constant* const zero_points = node.constant(zero_point);
  if (node.has_input(zero_point) && (zero_points == nullptr || !is_zero(floats_of(*zero_points)))) {
    COHORT_TRY(const TensorId zero, parameter(node, zero_point, "zero_point", shape, axis));
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

/// The inputs of a QLinear op: x, scale, zero point of both operands, then of the result.
constexpr std::size_t kFirstScale = 1, kFirstZero = 2, kSecond = 3, kSecondScale = 4, kSecondZero = 5, kResultScale = 6,
                      kResultZero = 7;

/// A sum of products in units of the result's levels.
Result<TensorId> in_levels(NodeImport& node, TensorId sum, std::size_t axis) {
  COHORT_TRY(const Constant* const first, node.floats(kFirstScale, "scale"));
  COHORT_TRY(const Constant* const second, node.floats(kSecondScale, "scale"));
  COHORT_TRY(const Constant* const result, node.floats(kResultScale, "scale"));
  if (element_count(first->shape) != 1 || element_count(result->shape) != 1)
    return fail(ErrorCode::kInvalidInput, "scales of the first operand and of the result must hold one value");
  COHORT_TRY(Shape aligned, along_axis(second->shape, "scale", node.shape_of(sum), axis));
  std::vector<float> factors = *second->floats();
  for (float& factor : factors) factor = factor * first->floats()->front() / result->floats()->front();
  COHORT_CHECK(node.claim(element_count(aligned)));
  COHORT_TRY(const TensorId factor, node.made_weight("factor", std::move(aligned), std::move(factors)));
  return binary(node, "in_levels", BinaryKind::kMul, sum, factor);
}

Result<void> expect_matrices(const Shape& a, const Shape& b) {
  if (a.size() >= 2 && b.size() >= 2) return {};
  return fail(ErrorCode::kInvalidInput, "is supported on matrices, not on {} and {}", to_string(a), to_string(b));
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
  COHORT_TRY(const TensorId scale, parameter(node, 1, "scale", shape, axis));
  COHORT_TRY(const TensorId levels, binary(node, "level", BinaryKind::kDiv, x, scale));
  return set_levels(node, levels, 2, shape, axis);
}

Result<void> convert_dequantize(NodeImport& node) {
  node.ignore("output_dtype");
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const Shape scales, node.shape(1));
  COHORT_TRY(const std::size_t axis, axis_of_scales(node, shape, scales));
  COHORT_TRY(const TensorId x, centred(node, 0, 2, axis));
  COHORT_TRY(const TensorId scale, parameter(node, 1, "scale", shape, axis));
  COHORT_TRY(const TensorId y, binary(node, "", BinaryKind::kMul, x, scale));
  node.set_result(y);
  return {};
}

Result<void> convert_conv_integer(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Convolution convolution, convolution_of(node, x));
  COHORT_TRY(const TensorId image, centred(node, 0, 2, 0));
  COHORT_TRY(const TensorId kernels, centred(node, 1, 3, 0));
  COHORT_TRY(const TensorId y, node.emit("", std::move(convolution), {image, kernels}));
  node.set_result(y);
  return {};
}

Result<void> convert_matmul_integer(NodeImport& node) {
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(1));
  COHORT_CHECK(expect_matrices(a, b));
  COHORT_TRY(const TensorId left, centred(node, 0, 2, a.size() - 2));
  COHORT_TRY(const TensorId right, centred(node, 1, 3, b.size() - 1));
  COHORT_TRY(const TensorId y, node.emit("", MatMul{}, {left, right}));
  node.set_result(y);
  return {};
}

Result<void> convert_qlinear_conv(NodeImport& node) {
  constexpr std::size_t kBias = 8;
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Convolution convolution, convolution_of(node, x, kSecond));
  COHORT_TRY(const TensorId image, centred(node, 0, kFirstZero, 0));
  COHORT_TRY(const TensorId kernels, centred(node, kSecond, kSecondZero, 0));
  std::vector<TensorId> inputs = {image, kernels};
  if (node.has_input(kBias)) {
    COHORT_TRY(const TensorId bias, as_float(node, kBias));
    inputs.push_back(bias);
  }
  COHORT_TRY(const TensorId sum, node.emit("sum", std::move(convolution), std::move(inputs)));
  COHORT_TRY(const TensorId levels, in_levels(node, sum, 1));
  const Shape y = node.shape_of(levels);
  return set_levels(node, levels, kResultZero, y, 1);
}

Result<void> convert_qlinear_matmul(NodeImport& node) {
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(kSecond));
  COHORT_CHECK(expect_matrices(a, b));
  COHORT_TRY(const TensorId left, centred(node, 0, kFirstZero, a.size() - 2));
  COHORT_TRY(const TensorId right, centred(node, kSecond, kSecondZero, b.size() - 1));
  COHORT_TRY(const TensorId sum, node.emit("sum", MatMul{}, {left, right}));
  const Shape y = node.shape_of(sum);
  COHORT_TRY(const TensorId levels, in_levels(node, sum, y.size() - 1));
  return set_levels(node, levels, kResultZero, y, y.size() - 1);
}

}  // namespace cohort::onnx
