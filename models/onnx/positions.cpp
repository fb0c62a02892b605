#include "models/onnx/positions.hpp"

#include <algorithm>
#include <optional>

#include "models/compute/tensor_ref.hpp"

namespace cohort::onnx {

namespace {

/// Entry `j` of the last axis of `indices`, that axis dropped.
Result<TensorId> column(NodeImport& node, TensorId indices, std::int64_t j) {
  Shape shape = node.shape_of(indices);
  TensorSlice slice{Shape(shape.size(), 0), Shape(shape.size(), 1), shape};
  slice.start.back() = j;
  slice.count.back() = 1;
  COHORT_TRY(const TensorId picked, node.emit("column", std::move(slice), {indices}));
  shape.pop_back();
  return node.emit_reshape("entries", picked, std::move(shape));
}

}  // namespace

Result<void> check_positions(const Shape& shape) {
  if (element_count(shape) <= (1 << 24)) return {};
  return fail(ErrorCode::kInvalidInput, "{} has more than 2^24 elements, whose positions float32 does not hold exactly",
              to_string(shape));
}

Result<std::int64_t> from_front(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    return fail(ErrorCode::kInvalidInput, "index {} is outside of {} entries", index, extent);
  return index < 0 ? index + extent : index;
}

Result<void> check_indices(const NodeImport& node, std::size_t input, std::span<const std::int64_t> extents) {
  const Constant* const known = node.constant(input);
  if (known == nullptr || known->integers() == nullptr) return {};
  const std::vector<std::int64_t>& indices = *known->integers();
  for (std::size_t i = 0; i < indices.size(); ++i) COHORT_CHECK(from_front(indices[i], extents[i % extents.size()]));
  return {};
}

Result<TensorId> whole(NodeImport& node, std::string_view suffix, BinaryKind kind, TensorId a, TensorId b) {
  return node.emit(suffix, Binary{kind, kWhole}, {a, b});
}

Result<TensorId> scaled(NodeImport& node, TensorId places, std::int64_t stride) {
  if (stride == 1) return places;
  return whole(node, "scaled", BinaryKind::kMul, places, node.scalar("stride", static_cast<float>(stride), kWhole));
}

Result<TensorId> offsets_of(NodeImport& node, TensorId indices, std::int64_t extent, std::int64_t stride) {
  COHORT_TRY(const TensorId table, counting(node, extent, 0, 1, kWhole, static_cast<float>(stride)));
  return node.emit("offsets", Gather{0}, {table, indices});
}

Result<TensorId> counting(NodeImport& node, std::int64_t count, std::size_t axis, std::size_t rank, ElementType element,
                          float step) {
  Shape shape(rank, 1);
  shape[axis] = count;
  COHORT_CHECK(check_positions(shape));
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i);
  return node.made_weight("counting", std::move(shape), std::move(values), element);
}

Result<TensorId> moved_across(NodeImport& node, TensorId offsets, const Shape& strides, std::size_t axis) {
  const Shape shape = node.shape_of(offsets);
  TensorId at = offsets;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == axis || shape[d] == 1) continue;
    COHORT_TRY(const TensorId own, counting(node, shape[d], d, shape.size(), kWhole, static_cast<float>(strides[d])));
    COHORT_TRY(at, whole(node, "moved", BinaryKind::kAdd, at, own));
  }
  return at;
}

Result<TensorId> elements_at(NodeImport& node, std::string_view suffix, TensorId x, TensorId offsets,
                             std::size_t axis) {
  const Shape x_shape = node.shape_of(x);
  COHORT_TRY(const TensorId at, moved_across(node, offsets, reference::row_major_strides(x_shape), axis));
  COHORT_TRY(const TensorId flat, node.emit_reshape("flat", x, {element_count(x_shape)}));
  return node.emit(suffix, Gather{0}, {flat, at});
}

Result<TensorId> linear_positions(NodeImport& node, TensorId indices, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides) {
  std::optional<TensorId> at;
  for (std::size_t j = 0; j < extents.size(); ++j) {
    COHORT_TRY(const TensorId entries, column(node, indices, static_cast<std::int64_t>(j)));
    COHORT_TRY(TensorId offsets, offsets_of(node, entries, extents[j], strides[j]));
    if (at) {
      COHORT_TRY(offsets, whole(node, "moved", BinaryKind::kAdd, offsets, *at));
    }
    at = offsets;
  }
  return *at;  // an index has at least one entry
}

Result<TensorId> order_of(NodeImport& node, TensorId x) {
  if (node.element_of(x) == ElementType::kFloat32) return x;
  constexpr std::int64_t kMostExact = 1 << 24;
  const auto is_exact = [](std::int64_t value) { return value >= -kMostExact && value <= kMostExact; };
  const Constant* const known = node.constant(0);
  if (known == nullptr || known->integers() == nullptr) {
    COHORT_TRY(x, whole(node, "fitting", BinaryKind::kMul, x, node.scalar("scale", 128, kWhole)));
  } else if (!std::all_of(known->integers()->begin(), known->integers()->end(), is_exact)) {
    return fail(ErrorCode::kInvalidInput, "takes float32, or whole numbers up to 2^24");
  }
  return node.emit("order", Cast{kWhole, ElementType::kFloat32, false}, {x});
}

}  // namespace cohort::onnx
