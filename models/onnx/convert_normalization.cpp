#include <algorithm>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

Result<void> convert_batch_normalization(NodeImport& node) {
  BatchNormalization normalization;
  COHORT_TRY(normalization.epsilon, node.number("epsilon", 1e-5F));
  COHORT_TRY(const std::int64_t spatial, node.integer("spatial", 1));
  COHORT_TRY(const std::int64_t is_test, node.integer("is_test", 1));
  COHORT_TRY(const std::int64_t training_mode, node.integer("training_mode", 0));
  node.ignore("momentum");
  node.ignore("consumed_inputs");
  if (spatial != 1)
    return fail(ErrorCode::kInvalidInput, "statistics of each activation (spatial 0) are not supported");
  if (is_test == 0 || training_mode != 0)
    return fail(ErrorCode::kInvalidInput, "is in training mode; export the model for inference");
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < 5; ++i) {
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  COHORT_TRY(const TensorId y, node.emit("", normalization, std::move(inputs)));
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
    COHORT_TRY(const TensorId y, node.emit("", Softmax{static_cast<std::int64_t>(axis)}, {x}));
    node.set_result(y);
    return {};
  }
  const Shape flat{element_count(Shape(shape.begin(), first)), element_count(Shape(first, shape.end()))};
  COHORT_TRY(x, node.emit_reshape("flat", x, flat));
  COHORT_TRY(const TensorId y, node.emit("", Softmax{1}, {x}));
  COHORT_TRY(const TensorId result, node.emit_reshape("shape", y, shape));
  node.set_result(result);
  return {};
}

}  // namespace cohort::onnx
