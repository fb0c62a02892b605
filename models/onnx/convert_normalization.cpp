#include <algorithm>
#include <numeric>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

Result<std::vector<TensorId>> first_inputs(NodeImport& node, std::size_t count) {
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  return inputs;
}

/// Mean and variance of x over `axes`, which stay as ones, sqrt(variance + epsilon) and 1 divided by it.
struct Moments {
  TensorId mean{}, variance{}, deviation{}, scale{};
  TensorId centred{};  ///< x - mean
};
Result<Moments> moments(NodeImport& node, TensorId x, const std::vector<std::int64_t>& axes, float epsilon) {
  Moments result;
  COHORT_TRY(result.mean, node.emit("mean", Reduce{ReduceKind::kMean, axes, true}, {x}));
  COHORT_TRY(result.centred, binary(node, "centred", BinaryKind::kSub, x, result.mean));
  COHORT_TRY(const TensorId squares, binary(node, "squares", BinaryKind::kMul, result.centred, result.centred));
  COHORT_TRY(result.variance, node.emit("variance", Reduce{ReduceKind::kMean, axes, true}, {squares}));
  COHORT_TRY(const TensorId raised,
             binary(node, "raised", BinaryKind::kAdd, result.variance, node.scalar("epsilon", epsilon)));
  COHORT_TRY(result.deviation, node.emit("deviation", Activation{ActivationKind::kSqrt, 0, 0}, {raised}));
  COHORT_TRY(result.scale, node.emit("inverse", Activation{ActivationKind::kReciprocal, 0, 0}, {result.deviation}));
  return result;
}

/// Input `i` [C] as [C, 1, ...], to repeat over the axes of x behind the channels.
Result<TensorId> per_channel(NodeImport& node, std::size_t i, const Shape& x) {
  COHORT_TRY(const TensorId input, node.tensor(i));
  Shape shape(x.size() - 1, 1);
  shape[0] = x[1];
  return node.emit_reshape(fmt::format("channels{}", i), input, std::move(shape));
}

/// momentum * old + (1 - momentum) * current [1, C, 1, ...], as output `output` [C].
Result<void> set_running(NodeImport& node, std::size_t old_input, TensorId current, float momentum,
                         std::size_t output) {
  if (!node.is_read(output)) return {};
  COHORT_TRY(const TensorId old, node.tensor(old_input));
  COHORT_TRY(const TensorId flat, node.emit_reshape(fmt::format("flat{}", output), current, node.shape_of(old)));
  COHORT_TRY(const TensorId kept,
             binary(node, fmt::format("kept{}", output), BinaryKind::kMul, old, node.scalar("momentum", momentum)));
  COHORT_TRY(const TensorId added,
             binary(node, fmt::format("added{}", output), BinaryKind::kMul, flat, node.scalar("rest", 1 - momentum)));
  COHORT_TRY(const TensorId y, binary(node, fmt::format("running{}", output), BinaryKind::kAdd, kept, added));
  node.set_result(y, output);
  return {};
}

/// Batch normalisation by the statistics of the batch itself.
Result<void> normalize_batch(NodeImport& node, float epsilon, float momentum) {
  COHORT_TRY(const Shape shape, node.shape(0));
  if (shape.size() < 2) return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(shape));
  COHORT_TRY(const TensorId x, node.tensor(0));
  std::vector<std::int64_t> axes{0};
  for (std::size_t d = 2; d < shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  COHORT_TRY(const Moments found, moments(node, x, axes, epsilon));
  COHORT_TRY(const TensorId scale, per_channel(node, 1, shape));
  COHORT_TRY(const TensorId shift, per_channel(node, 2, shape));
  COHORT_TRY(const TensorId normalised, binary(node, "normalised", BinaryKind::kMul, found.centred, found.scale));
  COHORT_TRY(const TensorId scaled, binary(node, "scaled", BinaryKind::kMul, normalised, scale));
  COHORT_TRY(const TensorId y, binary(node, "", BinaryKind::kAdd, scaled, shift));
  node.set_result(y);
  COHORT_CHECK(set_running(node, 3, found.mean, momentum, 1));
  return set_running(node, 4, found.variance, momentum, 2);
}

}  // namespace

Result<void> convert_batch_normalization(NodeImport& node) {
  BatchNormalization normalization;
  COHORT_TRY(normalization.epsilon, node.number("epsilon", 1e-5F));
  COHORT_TRY(const float momentum, node.number("momentum", 0.9F));
  normalization.momentum = 1 - momentum;
  COHORT_TRY(const std::int64_t spatial, node.integer("spatial", 1));
  COHORT_TRY(const std::int64_t is_test, node.integer("is_test", 1));
  COHORT_TRY(const std::int64_t training_mode, node.integer("training_mode", 0));
  node.ignore("consumed_inputs");
  if (spatial != 1)
    return fail(ErrorCode::kInvalidInput, "statistics of each activation (spatial 0) are not supported");
  const bool trains = node.for_training() && !node.is_read(1) && !node.is_read(2);
  if (is_test == 0 && !trains)
    return fail(ErrorCode::kInvalidInput, "is in training mode; export the model for inference");
  if (training_mode != 0 && !trains) return normalize_batch(node, normalization.epsilon, momentum);
  COHORT_TRY(std::vector<TensorId> inputs, first_inputs(node, 5));
  COHORT_TRY(const TensorId y, node.emit("", normalization, std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_instance_normalization(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  if (x.size() < 3) return fail(ErrorCode::kInvalidInput, "x must be [N, C, ...], not {}", to_string(x));
  GroupNormalization normalization;
  normalization.groups = x[1];
  COHORT_TRY(normalization.epsilon, node.number("epsilon", 1e-5F));
  node.ignore("consumed_inputs");
  COHORT_TRY(std::vector<TensorId> inputs, first_inputs(node, 3));
  COHORT_TRY(const TensorId y, node.emit("", normalization, std::move(inputs)));
  node.set_result(y);
  return {};
}

/// Scale and shift have a value per group in opset 18, and one per channel since opset 21.
Result<void> convert_group_normalization(NodeImport& node) {
  GroupNormalization normalization;
  COHORT_TRY(normalization.groups, node.integer("num_groups", 0));
  COHORT_TRY(normalization.epsilon, node.number("epsilon", 1e-5F));
  node.ignore("stash_type");
  COHORT_TRY(std::vector<TensorId> inputs, first_inputs(node, 3));
  COHORT_TRY(const TensorId y, node.emit("", normalization, std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_layer_normalization(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  LayerNormalization normalization;
  normalization.axis = static_cast<std::int64_t>(axis);
  COHORT_TRY(normalization.epsilon, node.number("epsilon", 1e-5F));
  node.ignore("stash_type");
  COHORT_TRY(std::vector<TensorId> inputs, first_inputs(node, node.has_input(2) ? 3 : 2));
  const TensorId x = inputs[0];
  COHORT_TRY(const TensorId y, node.emit("", normalization, std::move(inputs)));
  node.set_result(y);
  if (!node.is_read(1) && !node.is_read(2)) return {};
  std::vector<std::int64_t> axes(shape.size() - axis);
  std::iota(axes.begin(), axes.end(), normalization.axis);
  COHORT_TRY(const Moments found, moments(node, x, axes, normalization.epsilon));
  if (node.is_read(1)) node.set_result(found.mean, 1);
  if (node.is_read(2)) node.set_result(found.scale, 2);
  return {};
}

/// x / sqrt(mean of x^2 + epsilon) * scale over the axes from `axis` on (Zhang & Sennrich, arXiv:1910.07467).
Result<void> convert_rms_normalization(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const float epsilon, node.number("epsilon", 1e-5F));
  node.ignore("stash_type");
  std::vector<std::int64_t> axes(shape.size() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId scale, node.tensor(1));
  COHORT_TRY(const TensorId squares, binary(node, "squares", BinaryKind::kMul, x, x));
  COHORT_TRY(const TensorId mean, node.emit("mean", Reduce{ReduceKind::kMean, axes, true}, {squares}));
  COHORT_TRY(const TensorId raised, binary(node, "raised", BinaryKind::kAdd, mean, node.scalar("epsilon", epsilon)));
  COHORT_TRY(const TensorId root, node.emit("root", Activation{ActivationKind::kSqrt, 0, 0}, {raised}));
  COHORT_TRY(const TensorId normalised, binary(node, "normalised", BinaryKind::kDiv, x, root));
  COHORT_TRY(const TensorId y, binary(node, "", BinaryKind::kMul, normalised, scale));
  node.set_result(y);
  return {};
}

/// x / norm of x along an axis, 0 where that is 0.
Result<void> convert_lp_normalization(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const std::int64_t p, node.integer("p", 2));
  if (p != 1 && p != 2) return fail(ErrorCode::kInvalidInput, "attribute p must be 1 or 2, not {}", p);
  const Reduce reduce{p == 1 ? ReduceKind::kL1 : ReduceKind::kL2, {static_cast<std::int64_t>(axis)}, true};
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId norm, node.emit("norm", reduce, {x}));
  const TensorId zero = node.scalar("zero", 0);
  COHORT_TRY(const TensorId is_zero, binary(node, "is_zero", BinaryKind::kEqual, norm, zero));
  COHORT_TRY(const TensorId divided, binary(node, "divided", BinaryKind::kDiv, x, norm));
  COHORT_TRY(const TensorId y, node.emit("", Select{}, {is_zero, zero, divided}));
  node.set_result(y);
  return {};
}

/// (x - mean) / (standard deviation + 1e-9) over the axes.
Result<void> convert_mean_variance_normalization(NodeImport& node) {
  if (node.opset() < 9) return fail(ErrorCode::kInvalidInput, "is supported from opset 9 on");
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const auto given, node.integer_list("axes", {0, 2, 3}));
  COHORT_TRY(const auto axes, normalize_axes(given, shape.size()));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const Moments found, moments(node, x, axes, 0));
  const TensorId epsilon = node.scalar("least", 1e-9F);
  COHORT_TRY(const TensorId divisor, binary(node, "divisor", BinaryKind::kAdd, found.deviation, epsilon));
  COHORT_TRY(const TensorId y, binary(node, "", BinaryKind::kDiv, found.centred, divisor));
  node.set_result(y);
  return {};
}

Result<void> convert_lrn(NodeImport& node) {
  LocalResponseNormalization normalization;
  if (!node.has_attribute("size")) return fail(ErrorCode::kInvalidInput, "attribute size is missing");
  COHORT_TRY(normalization.size, node.integer("size", 0));
  COHORT_TRY(normalization.alpha, node.number("alpha", 1e-4F));
  COHORT_TRY(normalization.beta, node.number("beta", 0.75F));
  COHORT_TRY(normalization.bias, node.number("bias", 1));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", normalization, {x}));
  node.set_result(y);
  return {};
}

Result<void> convert_softmax(NodeImport& node) {
  const bool logarithm = node.op_type() == "LogSoftmax";
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", node.opset() < 13 ? 1 : -1));
  COHORT_TRY(std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(TensorId x, node.tensor(0));
  const auto first = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const auto is_wide = [](std::int64_t extent) { return extent > 1; };
  if (node.opset() >= 13 || std::count_if(first, shape.end(), is_wide) <= 1) {
    // Before opset 13 all axes from this one on are one; with one wide axis among them it is that.
    const auto wide = std::find_if(first, shape.end(), is_wide);
    if (node.opset() < 13 && wide != shape.end()) axis = static_cast<std::size_t>(wide - shape.begin());
    COHORT_TRY(const TensorId y, node.emit("", Softmax{static_cast<std::int64_t>(axis), logarithm}, {x}));
    node.set_result(y);
    return {};
  }
  const Shape flat{element_count(Shape(shape.begin(), first)), element_count(Shape(first, shape.end()))};
  COHORT_TRY(x, node.emit_reshape("flat", x, flat));
  COHORT_TRY(const TensorId y, node.emit("", Softmax{1, logarithm}, {x}));
  COHORT_TRY(const TensorId result, node.emit_reshape("shape", y, shape));
  node.set_result(result);
  return {};
}

}  // namespace cohort::onnx
