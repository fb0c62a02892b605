#include <algorithm>
#include <set>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

/// The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since.
Result<std::set<std::size_t>> axes_of(NodeImport& node, std::size_t rank) {
  std::vector<std::int64_t> axes;
  if (node.has_input(1)) {
    COHORT_TRY(axes, node.integers(1, "axes"));
  } else {
    COHORT_TRY(axes, node.integer_list("axes", {}));
  }
  std::set<std::size_t> normalized;
  for (const std::int64_t axis : axes) {
    COHORT_TRY(const std::size_t from_front, normalize_axis(axis, rank));
    if (!normalized.insert(from_front).second) return fail(ErrorCode::kInvalidInput, "axis {} stands twice", axis);
  }
  return normalized;
}

/// Fills in the extents that a Reshape's target copies (0) or leaves to be found (-1).
Result<Shape> resolve_target(const Shape& from, Shape target, bool zero_copies) {
  std::size_t open = target.size();
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && zero_copies) {
      if (i >= from.size())
        return fail(ErrorCode::kInvalidInput, "target {} copies dimension {}, which {} has not", to_string(target), i,
                    to_string(from));
      target[i] = from[i];
    } else if (target[i] == -1 && open == target.size()) {
      open = i;
    } else if (target[i] < 0) {
      return fail(ErrorCode::kInvalidInput, "target {} is not valid", to_string(target));
    }
  }
  if (open == target.size()) return target;
  target[open] = 1;
  const std::int64_t known = element_count(target);
  const std::int64_t count = element_count(from);
  if (known == 0 || count % known != 0)
    return fail(ErrorCode::kInvalidInput, "{} elements do not divide by the {} of the target's other dimensions", count,
                known);
  target[open] = count / known;
  return target;
}

Constant integer_list_constant(std::vector<std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  return make_constant({size}, std::move(values));
}

}  // namespace

Result<void> reshape_to(NodeImport& node, const Shape& shape) {
  COHORT_TRY(const Shape from, node.shape(0));
  if (element_count(from) != element_count(shape))
    return fail(ErrorCode::kInvalidInput, "cannot make {} of {}: the number of elements differs", to_string(shape),
                to_string(from));
  const Value value = *node.value(0);
  if (const auto* constant = std::get_if<Constant>(&value)) {
    node.set_alias(Constant{shape, constant->values, constant->type});
    return {};
  }
  if (std::holds_alternative<InputValue>(value)) {
    COHORT_TRY(const TensorId x, node.tensor(0));
    COHORT_TRY(const TensorId y, node.emit_reshape("", x, shape));
    node.set_result(y);
    return {};
  }
  const auto& tensor = std::get<TensorValue>(value);
  if (tensor.viewed_as && node.shape_of(tensor.id) == shape) {
    node.set_result(tensor.id);
    return {};
  }
  COHORT_TRY(const TensorId y, node.emit_reshape("", tensor.id, shape));
  node.set_result(y);
  return {};
}

Result<void> convert_shape(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  const auto rank = static_cast<std::int64_t>(shape.size());
  COHORT_TRY(std::int64_t start, node.integer("start", 0));
  COHORT_TRY(std::int64_t end, node.integer("end", rank));
  start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<std::int64_t>(end < 0 ? end + rank : end, start, rank);
  node.set_alias(integer_list_constant({shape.begin() + start, shape.begin() + end}));
  return {};
}

Result<void> convert_size(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  node.set_alias(make_constant({}, std::vector<std::int64_t>{element_count(shape)}));
  return {};
}

Result<void> convert_identity(NodeImport& node) {
  const Value* value = node.value(0);
  if (value == nullptr) return fail(ErrorCode::kInvalidInput, "input 0 is missing");
  node.set_alias(Value(*value));
  return {};
}

namespace {

/// The node as an op that sets elements to zero at random.
Result<void> keep_dropout(NodeImport& node) {
  COHORT_TRY(float ratio, node.number("ratio", 0.5F));
  if (node.has_input(1)) {
    COHORT_TRY(const Constant* const given, node.floats(1, "ratio"));
    if (given->floats()->size() != 1) return fail(ErrorCode::kInvalidInput, "ratio must be one number");
    ratio = given->floats()->front();
  }
  if (!(ratio >= 0 && ratio < 1))
    return fail(ErrorCode::kInvalidInput, "ratio must be at least 0 and below 1, not {}", ratio);
  for (const char* const name : {"is_test", "seed", "consumed_inputs"}) node.ignore(name);
  if (ratio == 0) return convert_identity(node);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId rate, node.made_weight("ratio", {1}, {ratio}));
  COHORT_TRY(const TensorId y, node.emit("", Dropout{}, {x, rate, node.random()}));
  node.set_result(y);
  return {};
}

}  // namespace

Result<void> convert_dropout(NodeImport& node) {
  if (node.for_training()) return keep_dropout(node);
  COHORT_TRY(const std::int64_t is_test, node.integer("is_test", 1));
  bool training = is_test == 0;
  if (node.has_input(2)) {
    COHORT_TRY(const auto training_mode, node.integers(2, "training_mode"));
    training = training_mode != std::vector<std::int64_t>{0};
  }
  if (training && node.has_input(1)) {
    COHORT_TRY(const Constant* const ratio, node.floats(1, "ratio"));
    training = *ratio->floats() != std::vector<float>{0.0F};
  }
  if (training) return fail(ErrorCode::kInvalidInput, "is in training mode; export the model for inference");
  node.ignore("ratio");
  node.ignore("seed");
  node.ignore("consumed_inputs");
  if (node.is_read(1)) {
    COHORT_TRY(const Shape shape, node.shape(0));
    COHORT_CHECK(node.claim(element_count(shape)));
    const auto count = static_cast<std::size_t>(element_count(shape));
    // Everything is kept. Before opset 10 the mask has the type of the data.
    node.set_alias(node.opset() < 10 ? make_constant(shape, std::vector<float>(count, 1.0F))
                                     : make_constant(shape, std::vector<std::int64_t>(count, 1)),
                   1);
  }
  return convert_identity(node);
}

Result<void> convert_reshape(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  COHORT_TRY(const std::int64_t allow_zero, node.integer("allowzero", 0));
  Shape target;
  if (node.has_input(1)) {
    COHORT_TRY(target, node.integers(1, "shape"));
  } else {
    if (!node.has_attribute("shape")) return fail(ErrorCode::kInvalidInput, "input 1 (shape) is missing");
    COHORT_TRY(target, node.integer_list("shape", {}));
  }
  node.ignore("consumed_inputs");
  COHORT_TRY(const Shape shape, resolve_target(from, std::move(target), allow_zero == 0));
  return reshape_to(node, shape);
}

Result<void> convert_flatten(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  COHORT_TRY(const std::int64_t axis, node.integer("axis", 1));
  // One past the last dimension is allowed here.
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank)
    return fail(ErrorCode::kInvalidInput, "axis must be from {} to {}, not {}", -rank, rank, axis);
  const auto split = from.begin() + (axis < 0 ? axis + rank : axis);
  return reshape_to(node, {element_count(Shape(from.begin(), split)), element_count(Shape(split, from.end()))});
}

Result<void> convert_squeeze(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  COHORT_TRY(const auto axes, axes_of(node, from.size()));
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool asked = axes.empty() ? from[i] == 1 : axes.count(i) > 0;
    if (asked && from[i] != 1)
      return fail(ErrorCode::kInvalidInput, "cannot squeeze dimension {} of {}", i, to_string(from));
    if (!asked) shape.push_back(from[i]);
  }
  return reshape_to(node, shape);
}

Result<void> convert_unsqueeze(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  std::size_t added = 0;
  if (node.has_input(1)) {
    COHORT_TRY(const auto axes, node.integers(1, "axes"));
    added = axes.size();
  } else {
    COHORT_TRY(const auto axes, node.integer_list("axes", {}));
    added = axes.size();
  }
  COHORT_TRY(const auto axes, axes_of(node, from.size() + added));
  Shape shape = from;
  for (const std::size_t axis : axes) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return reshape_to(node, shape);
}

Result<std::vector<std::size_t>> permutation_of(NodeImport& node, std::size_t rank) {
  std::vector<std::int64_t> reversed;
  for (std::size_t i = rank; i > 0; --i) reversed.push_back(static_cast<std::int64_t>(i - 1));
  COHORT_TRY(const auto axes, node.integer_list("perm", std::move(reversed)));
  std::vector<std::size_t> permutation;
  std::set<std::int64_t> seen;
  for (const std::int64_t axis : axes) {
    const bool fits = axis >= 0 && axis < static_cast<std::int64_t>(rank) && seen.insert(axis).second;
    if (!fits) return fail(ErrorCode::kInvalidInput, "attribute perm is no permutation of {} axes", rank);
    permutation.push_back(static_cast<std::size_t>(axis));
  }
  if (permutation.size() != rank)
    return fail(ErrorCode::kInvalidInput, "attribute perm must have {} entries, not {}", rank, permutation.size());
  return permutation;
}

}  // namespace cohort::onnx
