#include <algorithm>
#include <numeric>

#include "models/compute/tensor_ref.hpp"
#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/positions.hpp"

// Ops that pick elements by their position, of ops that there are: positions are whole numbers that are
// computed like any others.

namespace cohort::onnx {

Result<void> convert_gather_elements(NodeImport& node) {
  COHORT_TRY(const Shape x_shape, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, x_shape.size()));
  COHORT_CHECK(check_positions(x_shape));
  bool fits = shape.size() == x_shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || shape[d] <= x_shape[d];
  if (!fits)
    return fail(ErrorCode::kInvalidInput, "indices {} do not fit into {}", to_string(shape), to_string(x_shape));
  COHORT_CHECK(check_indices(node, 1, std::span(x_shape).subspan(axis, 1)));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId indices, node.tensor(1));
  const std::int64_t stride = reference::row_major_strides(x_shape)[axis];
  COHORT_TRY(const TensorId offsets, offsets_of(node, indices, x_shape[axis], stride));
  COHORT_TRY(const TensorId y, elements_at(node, "", x, offsets, axis));
  node.set_result(y);
  return {};
}

Result<void> convert_gather_nd(NodeImport& node) {
  COHORT_TRY(const Shape x_shape, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const std::int64_t batch_dims, node.integer("batch_dims", 0));
  COHORT_CHECK(check_positions(x_shape));
  const bool has_rank = batch_dims >= 0 && batch_dims < static_cast<std::int64_t>(shape.size()) && !shape.empty();
  const auto first = static_cast<std::size_t>(has_rank ? batch_dims : 0);
  const auto depth = static_cast<std::size_t>(has_rank ? std::clamp<std::int64_t>(shape.back(), 0, 64) : 0);
  if (!has_rank || depth < 1 || first + depth > x_shape.size() ||
      !std::equal(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first), x_shape.begin()))
    return fail(ErrorCode::kInvalidInput, "indices {} do not fit into {}", to_string(shape), to_string(x_shape));
  COHORT_CHECK(check_indices(node, 1, std::span(x_shape).subspan(first, depth)));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId indices, node.tensor(1));
  // All axes that are picked from as one.
  const auto rest = x_shape.begin() + static_cast<std::ptrdiff_t>(first + depth);
  const Shape picked(x_shape.begin(), rest);
  const Shape strides = reference::row_major_strides(picked);
  Shape rows{element_count(picked)};
  rows.insert(rows.end(), rest, x_shape.end());
  COHORT_TRY(TensorId at,
             linear_positions(node, indices, std::span(picked).subspan(first), std::span(strides).subspan(first)));
  for (std::size_t d = 0; d < first; ++d) {
    COHORT_TRY(const TensorId offsets,
               counting(node, picked[d], d, shape.size() - 1, kWhole, static_cast<float>(strides[d])));
    COHORT_TRY(at, whole(node, "moved", BinaryKind::kAdd, at, offsets));
  }
  COHORT_TRY(const TensorId flat, node.emit_reshape("flat", x, std::move(rows)));
  COHORT_TRY(const TensorId y, node.emit("", Gather{0}, {flat, at}));
  node.set_result(y);
  return {};
}

/// The entries of an axis, or of all elements in one row, at which a constant condition is true.
Result<void> convert_compress(NodeImport& node) {
  COHORT_TRY(Shape shape, node.shape(0));
  const Constant* const condition = node.needed_constant(1);
  if (condition == nullptr || condition->shape.size() != 1)
    return fail(ErrorCode::kInvalidInput, "is supported where condition is constant, a list of truth values");
  COHORT_TRY(TensorId x, node.tensor(0));
  if (!node.has_attribute("axis") && shape.size() != 1) {
    shape = {element_count(shape)};
    COHORT_TRY(x, node.emit_reshape("row", x, shape));
  }
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_CHECK(check_positions(condition->shape));
  const std::vector<float> truths = floats_of(*condition);
  std::vector<float> kept;
  for (std::int64_t at = 0; const float truth : truths) {
    if (truth != 0 && at >= shape[axis])
      return fail(ErrorCode::kInvalidInput, "condition keeps entry {} of an axis of {}", at, shape[axis]);
    if (truth != 0) kept.push_back(static_cast<float>(at));
    ++at;
  }
  const Shape count{static_cast<std::int64_t>(kept.size())};
  COHORT_TRY(const TensorId places, node.made_weight("kept", count, std::move(kept), kWhole));
  COHORT_TRY(const TensorId y, node.emit("", Gather{static_cast<std::int64_t>(axis)}, {x, places}));
  node.set_result(y);
  return {};
}

/// values[1] where the index is the position on a new axis, values[0] elsewhere.
Result<void> convert_one_hot(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  const Constant* depth_constant = node.needed_constant(1);
  if (depth_constant == nullptr) return node.not_constant(1, "depth");
  if (element_count(depth_constant->shape) != 1) return fail(ErrorCode::kInvalidInput, "depth must be one number");
  const auto* floats = depth_constant->floats();
  const auto depth = floats != nullptr ? static_cast<std::int64_t>(std::clamp(floats->front(), 0.0F, 0x1p25F))
                                       : depth_constant->integers()->front();
  if (depth < 1) return fail(ErrorCode::kInvalidInput, "depth must be at least 1, not {}", depth);
  COHORT_TRY(const Shape values_shape, node.shape(2));
  if (values_shape != Shape{2})
    return fail(ErrorCode::kInvalidInput, "values must be two, not {}", to_string(values_shape));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, from.size() + 1));
  COHORT_TRY(TensorId indices, node.tensor(0));
  if (node.element_of(indices) == ElementType::kFloat32) {
    COHORT_TRY(indices, node.emit("whole", Cast{ElementType::kFloat32, kWhole, false}, {indices}));
  }
  Shape widened = from;
  widened.insert(widened.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  COHORT_TRY(indices, node.emit_reshape("widened", indices, widened));
  const TensorId zero = node.scalar("zero", 0, kWhole);
  COHORT_TRY(const TensorId positions, counting(node, depth, axis, widened.size(), kWhole));
  COHORT_TRY(const TensorId negative, whole(node, "negative", BinaryKind::kLess, indices, zero));
  COHORT_TRY(const TensorId raised,
             whole(node, "raised", BinaryKind::kAdd, indices, node.scalar("depth", static_cast<float>(depth), kWhole)));
  COHORT_TRY(indices, node.emit("from_front", Select{kWhole}, {negative, raised, indices}));
  COHORT_TRY(const TensorId equal, whole(node, "equal", BinaryKind::kEqual, indices, positions));
  COHORT_TRY(const TensorId values, node.tensor(2));
  COHORT_TRY(const TensorId off, node.emit("off", TensorSlice{{0}, {1}, {1}}, {values}));
  COHORT_TRY(const TensorId on, node.emit("on", TensorSlice{{1}, {1}, {1}}, {values}));
  COHORT_TRY(const TensorId y, node.emit("", Select{node.element_of(values)}, {equal, on, off}));
  node.set_result(y);
  return {};
}

/// 1 at the first largest element along an axis, before opset 13 along all axes from it on, 0 elsewhere.
Result<void> convert_hardmax(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", node.opset() < 13 ? 1 : -1));
  COHORT_TRY(std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(TensorId x, node.tensor(0));
  Shape lanes = shape;
  if (node.opset() < 13) {
    const auto split = shape.begin() + static_cast<std::ptrdiff_t>(axis);
    lanes = {element_count(Shape(shape.begin(), split)), element_count(Shape(split, shape.end()))};
    axis = 1;
    COHORT_TRY(x, node.emit_reshape("lanes", x, lanes));
  }
  const ArgMax op{static_cast<std::int64_t>(axis), true, false, false};
  COHORT_TRY(const TensorId largest, node.emit("largest", op, {x}));
  COHORT_TRY(const TensorId positions, counting(node, lanes[axis], axis, lanes.size(), kWhole));
  COHORT_TRY(const TensorId equal, whole(node, "equal", BinaryKind::kEqual, largest, positions));
  const bool is_shaped = lanes == shape;
  COHORT_TRY(TensorId y, node.emit(is_shaped ? "" : "number", Cast{kWhole, ElementType::kFloat32, false}, {equal}));
  if (!is_shaped) {
    COHORT_TRY(y, node.emit_reshape("", y, shape));
  }
  node.set_result(y);
  return {};
}

/// The upper or lower triangle of matrices, 0 elsewhere.
Result<void> convert_trilu(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t upper, node.integer("upper", 1));
  std::int64_t diagonal = 0;
  if (node.has_input(1)) {
    COHORT_TRY(const auto given, node.integers(1, "k"));
    if (given.size() != 1) return fail(ErrorCode::kInvalidInput, "k must be one number, not {}", given.size());
    diagonal = given[0];
  }
  if (shape.size() < 2) return fail(ErrorCode::kInvalidInput, "takes matrices, not {}", to_string(shape));
  COHORT_TRY(const TensorId x, node.tensor(0));
  const Shape matrix(shape.end() - 2, shape.end());
  if (element_count(shape) == 0) return convert_identity(node);
  diagonal = std::clamp(diagonal, -matrix[0], matrix[1]);
  COHORT_CHECK(check_positions(matrix));
  std::vector<float> kept;
  for (std::int64_t row = 0; row < matrix[0]; ++row) {
    for (std::int64_t at = 0; at < matrix[1]; ++at)
      kept.push_back((upper != 0 ? at - row >= diagonal : at - row <= diagonal) ? 1.0F : 0.0F);
  }
  COHORT_TRY(const TensorId mask, node.made_weight("triangle", matrix, std::move(kept), kWhole));
  const ElementType element = node.element_of(x);
  COHORT_TRY(const TensorId y, node.emit("", Select{element}, {mask, x, node.scalar("zero", 0, element)}));
  node.set_result(y);
  return {};
}

Result<void> convert_eye_like(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const ElementType like, node.element(0));
  COHORT_TRY(const std::int64_t diagonal, node.integer("k", 0));
  const std::int64_t usual = node.whole_type(0) != 0 ? node.whole_type(0)
                             : like == kWhole        ? Type::kInt64
                                                     : Type::kFloat;
  COHORT_TRY(const std::int64_t type, node.integer("dtype", usual));
  if (shape.size() != 2) return fail(ErrorCode::kInvalidInput, "takes matrices, not {}", to_string(shape));
  if (is_narrow(type)) return fail(ErrorCode::kInvalidInput, "of whole numbers of 8 and 16 bits is not supported");
  COHORT_TRY(const ElementType element, element_of_type(type));
  COHORT_CHECK(node.claim(element_count(shape)));
  std::vector<std::int64_t> ones;
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t at = 0; at < shape[1]; ++at) ones.push_back(at - row == diagonal ? 1 : 0);
  }
  Constant eye = make_constant(shape, std::move(ones));
  node.set_alias(element == kWhole ? eye : make_constant(shape, floats_of(eye)));
  return {};
}

Result<void> convert_top_k(NodeImport& node) {
  constexpr std::int64_t kCountAsInput = 10;  // the opset
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const std::int64_t largest, node.integer("largest", 1));
  node.ignore("sorted");  // any order will do where it is 0
  std::int64_t count = 0;
  if (node.opset() < kCountAsInput) {
    COHORT_TRY(count, node.integer("k", -1));
  } else {
    COHORT_TRY(const auto counts, node.integers(1, "K"));
    if (counts.size() != 1) return fail(ErrorCode::kInvalidInput, "K must be one number, not {}", counts.size());
    count = counts[0];
  }
  if (count < 0 || count > shape[axis])
    return fail(ErrorCode::kInvalidInput, "K must be from 0 to {}, not {}", shape[axis], count);
  if (count == 0) {
    Shape nothing = shape;
    nothing[axis] = 0;
    COHORT_TRY(const ElementType element, node.element(0));
    const bool is_float = element == ElementType::kFloat32;
    node.set_alias(is_float ? make_constant(nothing, std::vector<float>())
                            : make_constant(nothing, std::vector<std::int64_t>()));
    node.set_alias(make_constant(nothing, std::vector<std::int64_t>()), 1);
    return {};
  }
  COHORT_CHECK(check_positions(shape));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId order, order_of(node, x));
  const ArgMax op{static_cast<std::int64_t>(axis), true, false, largest == 0, count};
  COHORT_TRY(const TensorId places, node.emit("places", op, {order}));
  if (node.is_read(0)) {
    COHORT_TRY(const TensorId offsets, scaled(node, places, reference::row_major_strides(shape)[axis]));
    COHORT_TRY(const TensorId values, elements_at(node, "", x, offsets, axis));
    node.set_result(values);
  }
  node.set_result(places, 1);
  return {};
}

}  // namespace cohort::onnx
