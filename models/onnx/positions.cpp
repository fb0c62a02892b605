#include "models/onnx/positions.hpp"

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

Result<TensorId> whole(NodeImport& node, std::string_view suffix, BinaryKind kind, TensorId a, TensorId b) {
  return node.emit(suffix, Binary{kind, kWhole}, {a, b});
}

Result<TensorId> from_front(NodeImport& node, TensorId indices, std::int64_t extent) {
  const TensorId count = node.scalar("extent", static_cast<float>(extent), kWhole);
  COHORT_TRY(const TensorId raised, whole(node, "raised", BinaryKind::kAdd, indices, count));
  return whole(node, "from_front", BinaryKind::kMod, raised, count);
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

Result<TensorId> elements_at(NodeImport& node, std::string_view suffix, TensorId x, TensorId places, std::size_t axis) {
  const Shape x_shape = node.shape_of(x), shape = node.shape_of(places);
  const Shape strides = reference::row_major_strides(x_shape);
  COHORT_TRY(TensorId at, whole(node, "scaled", BinaryKind::kMul, places,
                                node.scalar("stride", static_cast<float>(strides[axis]), kWhole)));
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d == axis || shape[d] == 1) continue;
    COHORT_TRY(const TensorId offsets,
               counting(node, shape[d], d, shape.size(), kWhole, static_cast<float>(strides[d])));
    COHORT_TRY(at, whole(node, "moved", BinaryKind::kAdd, at, offsets));
  }
  COHORT_TRY(const TensorId flat, node.emit_reshape("flat", x, {element_count(x_shape)}));
  return node.emit(suffix, Gather{0}, {flat, at});
}

Result<TensorId> linear_positions(NodeImport& node, TensorId indices, std::span<const std::int64_t> extents,
                                  std::span<const std::int64_t> strides) {
  TensorId at = node.scalar("start", 0, kWhole);
  for (std::size_t j = 0; j < extents.size(); ++j) {
    COHORT_TRY(TensorId entries, column(node, indices, static_cast<std::int64_t>(j)));
    COHORT_TRY(entries, from_front(node, entries, extents[j]));
    const TensorId stride = node.scalar("stride", static_cast<float>(strides[j]), kWhole);
    COHORT_TRY(entries, whole(node, "scaled", BinaryKind::kMul, entries, stride));
    COHORT_TRY(at, whole(node, "moved", BinaryKind::kAdd, entries, at));
  }
  return at;
}

}  // namespace cohort::onnx
