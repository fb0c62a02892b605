#include <algorithm>

#include "models/compute/tensor_ref.hpp"
#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"

// Ops that write elements of one tensor into another, as a Scatter of rows.

namespace cohort::onnx {

namespace {

/// Nothing where the later of two updates replaces the earlier.
Result<std::optional<BinaryKind>> reduction_of(NodeImport& node) {
  COHORT_TRY(const std::string name, node.text("reduction", "none"));
  if (name == "none") return std::optional<BinaryKind>();
  if (name == "add") return std::optional(BinaryKind::kAdd);
  if (name == "mul") return std::optional(BinaryKind::kMul);
  if (name == "max") return std::optional(BinaryKind::kMax);
  if (name == "min") return std::optional(BinaryKind::kMin);
  return fail(ErrorCode::kInvalidInput, "attribute reduction must be none, add, mul, max or min, not {}", name);
}

/// x as `rows`, [outer, entries, inner], and where the updates go: `places`, [outer, n, inner or 1].
struct Rows {
  Shape rows;
  TensorId places{};
};

/// The node's first input with the updates, input `update`, written to it.
Result<void> scatter(NodeImport& node, const Shape& x, const Rows& to, std::optional<BinaryKind> reduction,
                     std::size_t update = 2) {
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(const TensorId given, node.tensor(update));
  COHORT_TRY(const TensorId rows, node.emit_reshape("rows", from, to.rows));
  const Shape shape{to.rows[0], node.shape_of(to.places)[1], to.rows[2]};
  COHORT_TRY(const TensorId updates, node.emit_reshape("updates", given, shape));
  COHORT_TRY(const TensorId scattered, node.emit("scattered", Scatter{reduction, element}, {rows, to.places, updates}));
  COHORT_TRY(const TensorId y, node.emit_reshape("", scattered, x));
  node.set_result(y);
  return {};
}

/// Places among `extent` entries.
Result<TensorId> constant_places(NodeImport& node, Shape shape, const std::vector<std::int64_t>& places,
                                 std::int64_t extent) {
  COHORT_CHECK(check_positions({extent}));
  return node.made_weight("places", std::move(shape), {places.begin(), places.end()}, kWhole);
}

/// The first of each row of `inner` equal values; empty where they differ.
std::vector<std::int64_t> narrowed(const std::vector<std::int64_t>& values, std::size_t inner) {
  std::vector<std::int64_t> narrow;
  for (std::size_t i = 0; i < values.size(); i += inner) {
    for (std::size_t j = 1; j < inner; ++j) {
      if (values[i + j] != values[i]) return {};
    }
    narrow.push_back(values[i]);
  }
  return narrow;
}

/// Of indices that were widened behind `axis` those that they were made of, [outer, n, 1]; else all, [outer, n, inner].
Result<TensorId> places_along(NodeImport& node, std::size_t axis, const Shape& rows) {
  COHORT_TRY(const Shape shape, node.shape(1));
  if (node.needed_constant(1) != nullptr) {
    COHORT_TRY(auto indices, node.integers(1, "indices"));
    for (std::int64_t& index : indices) {
      COHORT_TRY(index, from_front(index, rows[1]));
    }
    const std::vector<std::int64_t> narrow = narrowed(indices, static_cast<std::size_t>(rows[2]));
    if (narrow.empty()) return constant_places(node, {rows[0], shape[axis], rows[2]}, indices, rows[1]);
    return constant_places(node, {rows[0], shape[axis], 1}, narrow, rows[1]);
  }
  COHORT_TRY(const TensorId indices, node.tensor(1));
  const Op* const writer = node.writer_of(indices);
  if (writer != nullptr && std::holds_alternative<Expand>(writer->attributes)) {
    Shape narrow = node.shape_of(writer->inputs[0]);
    narrow.insert(narrow.begin(), shape.size() - narrow.size(), 1);
    Shape wanted(shape.size(), 1);
    std::copy_n(shape.begin(), axis + 1, wanted.begin());
    if (narrow == wanted) return node.emit_reshape("places", writer->inputs[0], {rows[0], shape[axis], 1});
  }
  return node.emit_reshape("places", indices, {rows[0], shape[axis], rows[2]});
}

/// x's extents before, along and behind an axis.
Shape split_at(const Shape& x, std::size_t axis) {
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
  return {element_count(Shape(x.begin(), at)), *at, element_count(Shape(at + 1, x.end()))};
}

/// Rows along `axis`; of fewer updates than x has elements across it, single elements.
Result<Rows> rows_along(NodeImport& node, const Shape& x, const Shape& shape, std::size_t axis) {
  Shape across = shape;
  across[axis] = x[axis];
  if (across == x) {
    const Shape rows = split_at(x, axis);
    COHORT_TRY(const TensorId places, places_along(node, axis, rows));
    return Rows{rows, places};
  }
  COHORT_CHECK(check_positions(x));
  COHORT_CHECK(check_indices(node, 1, Shape{x[axis]}));
  const Shape strides = reference::row_major_strides(x);
  COHORT_TRY(const TensorId indices, node.tensor(1));
  COHORT_TRY(TensorId places, offsets_of(node, indices, x[axis], strides[axis]));
  COHORT_TRY(places, moved_across(node, places, strides, axis));
  COHORT_TRY(places, node.emit_reshape("places", places, {1, element_count(shape), 1}));
  return Rows{{1, element_count(x), 1}, places};
}

/// Of x's first `depth` axes one, along which indices [..., depth] name slices.
Result<Rows> rows_of_slices(NodeImport& node, const Shape& x, std::size_t depth) {
  const auto split = x.begin() + static_cast<std::ptrdiff_t>(depth);
  const Shape picked(x.begin(), split);
  const Shape rows{1, element_count(picked), element_count(Shape(split, x.end()))};
  const Shape strides = reference::row_major_strides(picked);
  COHORT_CHECK(check_positions(picked));
  if (node.needed_constant(1) == nullptr) {
    COHORT_TRY(const TensorId indices, node.tensor(1));
    COHORT_TRY(const TensorId places, linear_positions(node, indices, picked, strides));
    COHORT_TRY(const TensorId listed,
               node.emit_reshape("places", places, {1, element_count(node.shape_of(places)), 1}));
    return Rows{rows, listed};
  }
  COHORT_TRY(const auto indices, node.integers(1, "indices"));
  std::vector<std::int64_t> places(indices.size() / depth, 0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    COHORT_TRY(const std::int64_t entry, from_front(indices[i], picked[i % depth]));
    places[i / depth] += entry * strides[i % depth];
  }
  COHORT_TRY(const TensorId listed, constant_places(node, {1, std::ssize(places), 1}, places, rows[1]));
  return Rows{rows, listed};
}

Result<void> expect_fit(bool fits, const Shape& x, const Shape& indices, const Shape& updates) {
  if (fits) return {};
  return fail(ErrorCode::kInvalidInput, "indices {} and updates {} do not fit into {}", to_string(indices),
              to_string(updates), to_string(x));
}

}  // namespace

Result<void> convert_scatter_elements(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const Shape updates, node.shape(2));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, x.size()));
  COHORT_TRY(const auto reduction, reduction_of(node));
  bool fits = shape.size() == x.size() && updates == shape;
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || shape[d] <= x[d];
  COHORT_CHECK(expect_fit(fits, x, shape, updates));
  if (element_count(x) == 0 || element_count(shape) == 0) return convert_identity(node);
  COHORT_TRY(const Rows rows, rows_along(node, x, shape, axis));
  return scatter(node, x, rows, reduction);
}

Result<void> convert_scatter_nd(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const Shape updates, node.shape(2));
  COHORT_TRY(const auto reduction, reduction_of(node));
  const std::int64_t depth = shape.empty() ? 0 : shape.back();
  bool fits = depth >= 1 && depth <= static_cast<std::int64_t>(x.size());
  if (fits) {
    Shape written(shape.begin(), shape.end() - 1);
    written.insert(written.end(), x.begin() + depth, x.end());
    fits = updates == written;
  }
  COHORT_CHECK(expect_fit(fits, x, shape, updates));
  if (element_count(x) == 0 || element_count(updates) == 0) return convert_identity(node);
  const auto count = static_cast<std::size_t>(depth);
  COHORT_TRY(const Rows rows, rows_of_slices(node, x, count));
  return scatter(node, x, rows, reduction);
}

namespace {

/// Extents of what a MaxPool gave x [N, C, ...] of, as far as the attributes say.
Result<Shape> unpooled(NodeImport& node, const Shape& x) {
  COHORT_CHECK(check_positions(x));
  COHORT_TRY(const Window window, window_of(node, x, {}));
  Shape shape = x;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    if (window.dilation[i] != 1)
      return fail(ErrorCode::kInvalidInput, "attribute dilations must be 1, not {}", window.dilation[i]);
    shape[i + 2] = (x[i + 2] - 1) * window.stride[i] + window.kernel[i] - window.pad_begin[i] - window.pad_end[i];
  }
  COHORT_CHECK(check_shape(shape));
  return shape;
}

/// x with zeros behind its elements, up to what input `input` gives as the result's shape.
Result<TensorId> extended(NodeImport& node, TensorId x, std::size_t input) {
  COHORT_TRY(const Shape wanted, node.integers(input, "output_shape"));
  const Shape shape = node.shape_of(x);
  if (wanted == shape) return x;
  bool fits = wanted.size() == shape.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = wanted[d] >= shape[d];
  if (!fits)
    return fail(ErrorCode::kInvalidInput, "output_shape {} must not be less than {}", to_string(wanted),
                to_string(shape));
  Pad pad{PadMode::kConstant, Shape(shape.size(), 0), wanted};
  for (std::size_t d = 0; d < shape.size(); ++d) pad.end[d] -= shape[d];
  return node.emit("extended", std::move(pad), {x});
}

/// Where write_indices, input 2, one for each sample, or 0 say that `count` entries go: [outer, count, 1] of a cache
/// [outer, entries, inner], `rows`.
Result<TensorId> places_in_cache(NodeImport& node, const Shape& rows, std::int64_t samples, std::int64_t count,
                                 bool is_circular) {
  COHORT_CHECK(check_positions({rows[1]}));
  COHORT_TRY(TensorId places, counting(node, count, 2, 3, kWhole));
  if (node.has_input(2)) {
    if (!is_circular) {
      COHORT_CHECK(check_indices(node, 2, Shape{rows[1] - count + 1}));
    }
    COHORT_TRY(const TensorId given, node.tensor(2));
    if (node.shape_of(given) != Shape{samples})
      return fail(ErrorCode::kInvalidInput, "write_indices must have shape [{}], not {}", samples,
                  to_string(node.shape_of(given)));
    COHORT_TRY(const TensorId first, node.emit_reshape("first", given, {samples, 1, 1}));
    COHORT_TRY(places, whole(node, "places", BinaryKind::kAdd, first, places));
  }
  if (is_circular) {
    const TensorId extent = node.scalar("extent", static_cast<float>(rows[1]), kWhole);
    COHORT_TRY(places, whole(node, "wrapped", BinaryKind::kMod, places, extent));
  }
  COHORT_TRY(places, node.emit("of_all", Expand{{samples, rows[0] / samples, count}}, {places}));
  return node.emit_reshape("places", places, {rows[0], count, 1});
}

}  // namespace

/// Indices count through a tensor of the extents that the attributes say, as ONNX has it, also where output_shape makes
/// the result larger. ONNX Runtime takes them as places in the result.
Result<void> convert_max_unpool(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape indices, node.shape(1));
  if (x.size() < 3 || indices != x)
    return fail(ErrorCode::kInvalidInput, "is supported on x [N, C, ...] and as many indices, not {} and {}",
                to_string(x), to_string(indices));
  COHORT_TRY(const Shape shape, unpooled(node, x));
  const std::int64_t count = element_count(x);
  COHORT_CHECK(check_indices(node, 1, Shape{element_count(shape)}));
  COHORT_TRY(const TensorId values, node.tensor(0));
  COHORT_TRY(const TensorId given, node.tensor(1));
  COHORT_TRY(const TensorId updates, node.emit_reshape("updates", values, {1, count, 1}));
  COHORT_TRY(const TensorId places, node.emit_reshape("places", given, {1, count, 1}));
  COHORT_TRY(const TensorId zeros, node.emit("zeros", Expand{{1, element_count(shape), 1}}, {node.scalar("zero", 0)}));
  COHORT_TRY(TensorId y, node.emit("scattered", Scatter{}, {zeros, places, updates}));
  COHORT_TRY(y, node.emit_reshape(node.has_input(2) ? "unpooled" : "", y, shape));
  if (node.has_input(2)) {
    COHORT_TRY(y, extended(node, y, 2));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_tensor_scatter(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape updates, node.shape(1));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", -2));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, x.size()));
  COHORT_TRY(const std::string mode, node.text("mode", "linear"));
  if (axis == 0) return fail(ErrorCode::kInvalidInput, "axis must not be that of the samples, 0");
  if (mode != "linear" && mode != "circular")
    return fail(ErrorCode::kInvalidInput, "attribute mode must be linear or circular, not {}", mode);
  Shape across = updates;
  if (axis < across.size()) across[axis] = x[axis];
  if (across != x || updates[axis] > x[axis])
    return fail(ErrorCode::kInvalidInput, "update {} does not fit into {}", to_string(updates), to_string(x));
  if (element_count(x) == 0 || element_count(updates) == 0) return convert_identity(node);
  const Shape rows = split_at(x, axis);
  COHORT_TRY(const TensorId places, places_in_cache(node, rows, x[0], updates[axis], mode == "circular"));
  return scatter(node, x, Rows{rows, places}, std::nullopt, 1);
}

}  // namespace cohort::onnx
