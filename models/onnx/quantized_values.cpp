#include "models/onnx/quantized_values.hpp"

#include <algorithm>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// Value of element `i` of a constant of shape `shape`, among one value or one for each entry of `axis`.
struct ByEntry {
  const std::vector<float>& values;
  std::size_t inner = 1;

  ByEntry(const std::vector<float>& all, const Shape& shape, std::size_t axis) : values(all) {
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  }
  float operator()(std::size_t i) const { return values[i / inner % values.size()]; }
};

}  // namespace

bool is_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value == 0; });
}

bool is_number(const NodeImport& node, std::size_t input) {
  const Result<Shape> shape = node.shape(input);
  return !node.has_input(input) || (shape && shape->size() <= 1 && element_count(*shape) == 1);
}

Result<void> expect_matrices(const Shape& a, const Shape& b) {
  if (a.size() >= 2 && b.size() >= 2) return {};
  return fail(ErrorCode::kInvalidInput, "is supported on matrices, not on {} and {}", to_string(a), to_string(b));
}

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

Result<TensorId> parameter_over(NodeImport& node, std::size_t input, std::string_view what, const Shape& shape,
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

std::vector<float> distances(const Constant& levels, const std::vector<float>& zero_points, std::size_t axis) {
  std::vector<float> values = floats_of(levels);
  const ByEntry zero(zero_points, levels.shape, axis);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= zero(i);
  return values;
}

std::vector<float> times_steps(std::vector<float> values, const Shape& shape, const std::vector<float>& steps,
                               std::size_t axis) {
  const ByEntry step(steps, shape, axis);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= step(i);
  return values;
}

Result<TensorId> scaled_constant(NodeImport& node, std::size_t input, std::vector<float> values,
                                 const std::vector<float>& steps, std::size_t axis) {
  const Shape& shape = node.constant(input)->shape;
  COHORT_CHECK(node.claim(element_count(shape)));
  return node.weight(input, shape, times_steps(std::move(values), shape, steps, axis));
}

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
  COHORT_TRY(const TensorId zero, parameter_over(node, zero_point, what, shape, axis));
  return binary(node, fmt::format("centred{}", input), BinaryKind::kSub, x, zero);
}

}  // namespace cohort::onnx
