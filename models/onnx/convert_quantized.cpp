// Quantised ops, on float32 tensors that hold the whole numbers: sums of products of 8-bit numbers are exact in it up
// to 2^24, and beyond that rounded as any float32 sum is.

#include <algorithm>
#include <optional>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/window_sums.hpp"

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
  if (axis >= shape.size())
    return fail(ErrorCode::kInvalidInput, "{} has shape {} where {} needs one value", what, to_string(values),
                to_string(shape));
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

/// Value of element `i` of a constant of shape `shape`, among one value or one for each entry of `axis`.
struct ByEntry {
  const std::vector<float>& values;
  std::size_t inner = 1;

  ByEntry(const std::vector<float>& all, const Shape& shape, std::size_t axis) : values(all) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  }
  float operator()(std::size_t i) const { return values[i / inner % values.size()]; }
};

/// Constant whole numbers less their zero points.
std::vector<float> distances(const Constant& levels, const std::vector<float>& zero_points, std::size_t axis) {
  std::vector<float> values = floats_of(levels);
  const ByEntry zero(zero_points, levels.shape, axis);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zero(i);
  return values;
}

/// Numbers of shape `shape` times their steps: one, or one for each entry of `axis`.
std::vector<float> scaled(std::vector<float> values, const Shape& shape, const std::vector<float>& steps,
                          std::size_t axis) {
  const ByEntry step(steps, shape, axis);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= step(i);
  return values;
}

/// Numbers times their steps, as a weight of the shape of input `input`, a constant.
Result<TensorId> scaled_constant(NodeImport& node, std::size_t input, std::vector<float> values,
                                 const std::vector<float>& steps, std::size_t axis) {
  const Shape& shape = node.constant(input)->shape;
  COHORT_CHECK(node.claim(element_count(shape)));
  return node.weight(input, shape, scaled(std::move(values), shape, steps, axis));
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
    const Constant* const constant = node.constant(input);
    if (by_axis && constant != nullptr)
      return scaled_constant(node, input, distances(*constant, values, axis), {1}, axis);
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

/// The node's result: the levels of `x`, whose scales and zero points are inputs `scale` and `zero_point`.
Result<void> set_levels(NodeImport& node, TensorId x, std::size_t scale, std::size_t zero_point, std::size_t axis) {
  COHORT_TRY(const Levels levels, levels_of(node, zero_point));
  const Shape shape = node.shape_of(x);
  COHORT_TRY(const TensorId step, parameter(node, scale, "scale", shape, axis));
  COHORT_TRY(TensorId y, binary(node, "level", BinaryKind::kDiv, x, step));
  COHORT_TRY(y, node.emit("rounded", Activation{ActivationKind::kRound}, {y}));
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
  return scaled(distances(levels, zeros, x.axis), levels.shape, floats_of(scale), x.axis);
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
  COHORT_TRY(const TensorId scale, parameter(node, x.scale, "scale", shape, x.axis));
  return binary(node, suffix, BinaryKind::kMul, distance, scale);
}

Result<void> expect_matrices(const Shape& a, const Shape& b) {
  if (a.size() >= 2 && b.size() >= 2) return {};
  return fail(ErrorCode::kInvalidInput, "is supported on matrices, not on {} and {}", to_string(a), to_string(b));
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

namespace {

/// Whether an input is left out, or one number.
bool is_number(const NodeImport& node, std::size_t input) {
  const Result<Shape> shape = node.shape(input);
  return !node.has_input(input) || (shape && shape->size() <= 1 && element_count(*shape) == 1);
}

/// Constant kernels less their zero points, of a ConvInteger on images whose zero point is computed: where they fit
/// int8, and what the zero point adds to the sums, one number for each output and place, takes little memory. Else
/// absent.
Result<std::optional<std::vector<float>>> kernels_of_eight_bits(NodeImport& node, const Window& window,
                                                                const Shape& x) {
  constexpr std::int64_t kMostSums = std::int64_t{1} << 20;
  const Constant* const w = node.constant(1);
  const bool has_zero_point = node.has_input(2) && node.constant(2) == nullptr && is_number(node, 2);
  if (node.for_training() || w == nullptr || x.size() != 4 || !has_zero_point) return std::nullopt;
  const Shape most{w->shape[0], x[2] + window.pad_begin[0] + window.pad_end[0],
                   x[3] + window.pad_begin[1] + window.pad_end[1]};
  if (element_count(x) == 0 || element_count(w->shape) == 0 || element_count(most) > kMostSums) return std::nullopt;
  std::vector<float> zeros = {0};
  if (node.has_input(3)) {
    const Constant* const zero_points = node.constant(3);
    if (zero_points == nullptr || zero_points->shape.size() > 1) return std::nullopt;
    COHORT_CHECK(along_axis(zero_points->shape, "zero_point1", w->shape, 0));
    zeros = floats_of(*zero_points);
  }
  std::vector<float> values = distances(*w, zeros, 0);
  const bool fit = std::all_of(values.begin(), values.end(), [](float value) { return value >= -128 && value <= 127; });
  return fit ? std::optional(std::move(values)) : std::nullopt;
}

/// What the zero point adds is taken off the sums, so that the convolution reads the levels as they are, numbers of 8
/// bits.
Result<TensorId> convolution_of_levels(NodeImport& node, Convolution convolution, const Shape& x,
                                       const std::vector<float>& values) {
  const Shape& shape = node.constant(1)->shape;
  const Window window = convolution.window;
  COHORT_CHECK(node.claim(element_count(shape)));
  COHORT_TRY(const TensorId levels, as_float(node, 0));
  COHORT_TRY(const TensorId kernels, node.weight(1, shape, values));
  COHORT_TRY(const TensorId product, node.emit("product", std::move(convolution), {levels, kernels}));
  WindowSums sums = window_sums(values, shape, window, x, node.shape_of(product));
  for (float& sum : sums.values) sum = -sum;
  COHORT_TRY(const TensorId sum, node.made_weight("sums", std::move(sums.shape), std::move(sums.values)));
  COHORT_TRY(const TensorId zero, as_float(node, 2));
  COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, zero));
  return binary(node, "", BinaryKind::kAdd, product, added);
}

/// Whether a MatMulInteger multiplies one constant matrix, by levels that have one zero point at most. In training the
/// matrix changes, and what is taken off its sums would have to.
bool has_constant_matrix(const NodeImport& node) {
  if (node.for_training()) return false;
  const Constant* const b = node.constant(1);
  if (b == nullptr || b->shape.size() != 2 || !is_number(node, 2)) return false;
  const Constant* const zero_points = node.constant(3);
  return !node.has_input(3) ||
         (zero_points != nullptr && (is_number(node, 3) || zero_points->shape == Shape{b->shape[1]}));
}

/// Input 0 times constant input 1, [I, O]. What the zero point of input 0 adds is taken off the sums, so that the
/// product reads the levels as they are, numbers of 8 bits.
Result<TensorId> product_of_levels(NodeImport& node) {
  const Constant& b = *node.constant(1);
  std::vector<float> zeros = {0};
  if (const Constant* const zero_points = node.constant(3)) zeros = floats_of(*zero_points);
  COHORT_CHECK(node.claim(element_count(b.shape)));
  const std::vector<float> values = distances(b, zeros, 1);
  const auto columns = static_cast<std::size_t>(b.shape[1]);
  std::vector<float> sums(columns, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % columns] += values[i];
  COHORT_TRY(const TensorId x, as_float(node, 0));
  COHORT_TRY(const TensorId w, matrix_of_rows(node, 1, values));
  const Constant* const zero_point = node.constant(2);
  if (!node.has_input(2) || (zero_point != nullptr && is_zero(floats_of(*zero_point))))
    return product_of_rows(node, "", x, {w});
  if (zero_point != nullptr) {
    const float zero = floats_of(*zero_point).front();
    for (float& sum : sums) sum *= -zero;
    COHORT_TRY(const TensorId bias, node.weight(2, {b.shape[1]}, std::move(sums)));
    return product_of_rows(node, "", x, {w, bias});
  }
  COHORT_TRY(const TensorId zero, as_float(node, 2));
  COHORT_TRY(const TensorId sum, node.made_weight("sums", {b.shape[1]}, std::move(sums)));
  COHORT_TRY(const TensorId y, product_of_rows(node, "product", x, {w}));
  COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, zero));
  return binary(node, "", BinaryKind::kSub, y, added);
}

}  // namespace

Result<void> convert_conv_integer(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(Convolution convolution, convolution_of(node, x));
  COHORT_TRY(const auto levels, kernels_of_eight_bits(node, convolution.window, x));
  if (levels) {
    COHORT_TRY(const TensorId y, convolution_of_levels(node, std::move(convolution), x, *levels));
    node.set_result(y);
    return {};
  }
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
  if (has_constant_matrix(node)) {
    COHORT_TRY(const TensorId y, product_of_levels(node));
    node.set_result(y);
    return {};
  }
  COHORT_TRY(const TensorId left, centred(node, 0, 2, a.size() - 2));
  COHORT_TRY(const TensorId right, centred(node, 1, 3, b.size() - 1));
  COHORT_TRY(const TensorId y, node.emit("", MatMul{}, {left, right}));
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
