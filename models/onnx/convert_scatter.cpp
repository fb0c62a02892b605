#include <algorithm>

#include "models/compute/tensor_ref.hpp"
#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"
#include "models/onnx/scatter_computed.hpp"

// Ops that write elements of one tensor into another. Where it is known while the file is read where they go, the
// result is a choice, element by element, between the tensor and a gather of the updates; else see
// scatter_computed.hpp.

namespace cohort::onnx {

namespace {

/// Writes of one element that a reduction may ask for, each a pass over the tensor.
constexpr std::size_t kMostPasses = 16;

using Positions = std::vector<std::int64_t>;

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

Result<std::int64_t> from_front(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent)
    return fail(ErrorCode::kInvalidInput, "index {} is not from {} to {}", index, -extent, extent - 1);
  return index < 0 ? index + extent : index;
}

/// Element of the flattened tensor that each update of a ScatterElements node goes to: `indices`, of `shape`, say
/// where along `axis`.
Result<Positions> element_positions(const Shape& x, const Shape& shape, const std::vector<std::int64_t>& indices,
                                    std::size_t axis) {
  const Shape strides = reference::row_major_strides(x);
  Positions positions;
  positions.reserve(indices.size());
  Shape at(shape.size(), 0);
  for (const std::int64_t index : indices) {
    COHORT_TRY(const std::int64_t entry, from_front(index, x[axis]));
    std::int64_t position = 0;
    for (std::size_t d = 0; d < at.size(); ++d) position += (d == axis ? entry : at[d]) * strides[d];
    positions.push_back(position);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return positions;
}

/// The same of a ScatterND node, whose `indices` hold `depth` entries for each slice.
Result<Positions> slice_positions(const Shape& x, const std::vector<std::int64_t>& indices, std::size_t depth) {
  const Shape strides = reference::row_major_strides(x);
  const std::int64_t slice = element_count(Shape(x.begin() + static_cast<std::ptrdiff_t>(depth), x.end()));
  Positions positions;
  for (std::size_t i = 0; i < indices.size(); i += depth) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < depth; ++d) {
      COHORT_TRY(const std::int64_t entry, from_front(indices[i + d], x[d]));
      first += entry * strides[d];
    }
    for (std::int64_t j = 0; j < slice; ++j) positions.push_back(first + j);
  }
  return positions;
}

/// The pass over the tensor in which each update is written: as many passes as an element is written to, or only one,
/// in which the last of its updates stays, where none is combined.
struct Passes {
  std::vector<std::size_t> of_update;
  std::size_t count = 0;
};

Result<Passes> passes_of(const Positions& positions, std::size_t elements, bool is_combined) {
  Passes passes;
  std::vector<std::size_t> writes(elements, 0);
  for (const std::int64_t position : positions) {
    const std::size_t pass = is_combined ? writes[static_cast<std::size_t>(position)]++ : 0;
    if (pass == kMostPasses)
      return fail(ErrorCode::kInvalidInput, "more than {} updates of one element are not supported", kMostPasses);
    passes.of_update.push_back(pass);
    passes.count = std::max(passes.count, pass + 1);
  }
  return passes;
}

/// What one pass gives: where it writes, and the result there.
struct Written {
  TensorId mask{}, taken{};
};
Result<Written> written(NodeImport& node, const Positions& positions, const Passes& passes, std::size_t pass,
                        const Shape& shape, TensorId updates) {
  std::vector<float> is_written(static_cast<std::size_t>(element_count(shape)), 0);
  std::vector<float> update = is_written;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (passes.of_update[i] != pass) continue;
    is_written[static_cast<std::size_t>(positions[i])] = 1;
    update[static_cast<std::size_t>(positions[i])] = static_cast<float>(i);
  }
  COHORT_TRY(const TensorId from, node.made_weight("from", shape, std::move(update), kWhole));
  COHORT_TRY(const TensorId mask, node.made_weight("is_written", shape, std::move(is_written), kWhole));
  COHORT_TRY(const TensorId taken, node.emit("taken", Gather{0}, {updates, from}));
  return Written{mask, taken};
}

/// The node's first input with the updates, its third, written to `positions`.
Result<void> scatter(NodeImport& node, const Positions& positions, std::optional<BinaryKind> reduction) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const Shape updates_shape, node.shape(2));
  COHORT_TRY(const ElementType element, node.element(0));
  const auto elements = static_cast<std::size_t>(element_count(shape));
  COHORT_TRY(const Passes passes, passes_of(positions, elements, reduction.has_value()));
  if (passes.count == 0) return convert_identity(node);
  COHORT_TRY(TensorId y, node.tensor(0));
  COHORT_TRY(TensorId updates, node.tensor(2));
  if (updates_shape.size() != 1) {
    COHORT_TRY(updates, node.emit_reshape("updates", updates, {element_count(updates_shape)}));
  }
  for (std::size_t pass = 0; pass < passes.count; ++pass) {
    COHORT_TRY(Written by, written(node, positions, passes, pass, shape, updates));
    if (reduction) {
      COHORT_TRY(by.taken, node.emit("combined", Binary{*reduction, element}, {y, by.taken}));
    }
    const bool is_last = pass + 1 == passes.count;
    COHORT_TRY(y, node.emit(is_last ? "" : "written", Select{element}, {by.mask, by.taken, y}));
  }
  node.set_result(y);
  return {};
}

/// Of indices that were widened behind `axis` those that they were made of, [outer, n, 1]; else all, [outer, n, inner].
Result<TensorId> places_along(NodeImport& node, TensorId indices, std::size_t axis, const Shape& rows) {
  const Shape shape = node.shape_of(indices);
  const Op* const writer = node.writer_of(indices);
  if (writer != nullptr && std::holds_alternative<Expand>(writer->attributes)) {
    Shape narrow = node.shape_of(writer->inputs[0]);
    narrow.insert(narrow.begin(), shape.size() - narrow.size(), 1);
    Shape wanted(shape.size(), 1);
    std::copy_n(shape.begin(), axis + 1, wanted.begin());
    if (narrow == wanted) return node.emit_reshape("indices", writer->inputs[0], {rows[0], shape[axis], 1});
  }
  return node.emit_reshape("indices", indices, {rows[0], shape[axis], rows[2]});
}

/// x as `rows`, [outer, entries, inner], with the updates written to `places`, [outer, n, inner or 1].
Result<void> scatter_rows(NodeImport& node, const Shape& x, const Shape& rows, TensorId places,
                          std::optional<BinaryKind> reduction) {
  COHORT_TRY(const TensorId from, node.tensor(0));
  COHORT_TRY(const TensorId given, node.tensor(2));
  COHORT_TRY(const TensorId to, node.emit_reshape("rows", from, rows));
  COHORT_TRY(const TensorId updates, node.emit_reshape("updates", given, {rows[0], node.shape_of(places)[1], rows[2]}));
  COHORT_TRY(const TensorId scattered, scatter_computed(node, to, places, updates, reduction));
  COHORT_TRY(const TensorId y, node.emit_reshape("", scattered, x));
  node.set_result(y);
  return {};
}

/// Where indices are computed in the step.
Result<void> scatter_elements_computed(NodeImport& node, const Shape& x, const Shape& shape, std::size_t axis,
                                       std::optional<BinaryKind> reduction) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != axis && shape[d] != x[d])
      return fail(ErrorCode::kInvalidInput,
                  "indices {} that are not constant and fewer than {} across axis {} are not supported",
                  to_string(shape), to_string(x), axis);
  }
  const auto split = x.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape rows{element_count(Shape(x.begin(), split)), x[axis], element_count(Shape(split + 1, x.end()))};
  COHORT_TRY(const TensorId indices, node.tensor(1));
  COHORT_TRY(TensorId places, places_along(node, indices, axis, rows));
  COHORT_TRY(places, offsets_of(node, places, x[axis]));
  return scatter_rows(node, x, rows, places, reduction);
}

Result<void> scatter_nd_computed(NodeImport& node, const Shape& x, std::size_t depth,
                                 std::optional<BinaryKind> reduction) {
  const Shape picked(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(depth));
  const Shape strides = reference::row_major_strides(picked);
  const Shape slice(x.begin() + static_cast<std::ptrdiff_t>(depth), x.end());
  const Shape rows{1, element_count(picked), element_count(slice)};
  COHORT_TRY(const TensorId indices, node.tensor(1));
  COHORT_TRY(TensorId places, linear_positions(node, indices, picked, strides));
  COHORT_TRY(places, node.emit_reshape("places", places, {1, element_count(node.shape_of(places)), 1}));
  return scatter_rows(node, x, rows, places, reduction);
}

}  // namespace

Result<void> convert_scatter_elements(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const Shape updates, node.shape(2));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, x.size()));
  COHORT_TRY(const auto reduction, reduction_of(node));
  COHORT_CHECK(check_positions(x));
  COHORT_CHECK(check_positions(updates));
  bool fits = shape.size() == x.size() && updates == shape;
  for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || shape[d] <= x[d];
  if (!fits)
    return fail(ErrorCode::kInvalidInput, "indices {} and updates {} do not fit into {}", to_string(shape),
                to_string(updates), to_string(x));
  if (element_count(x) == 0 || element_count(shape) == 0) return convert_identity(node);
  if (node.needed_constant(1) == nullptr) return scatter_elements_computed(node, x, shape, axis, reduction);
  COHORT_TRY(const auto indices, node.integers(1, "indices"));
  COHORT_TRY(const Positions positions, element_positions(x, shape, indices, axis));
  return scatter(node, positions, reduction);
}

Result<void> convert_scatter_nd(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape shape, node.shape(1));
  COHORT_TRY(const Shape updates, node.shape(2));
  COHORT_TRY(const auto reduction, reduction_of(node));
  COHORT_CHECK(check_positions(x));
  COHORT_CHECK(check_positions(updates));
  const std::int64_t depth = shape.empty() ? 0 : shape.back();
  bool fits = depth >= 1 && depth <= static_cast<std::int64_t>(x.size());
  if (fits) {
    Shape written(shape.begin(), shape.end() - 1);
    written.insert(written.end(), x.begin() + depth, x.end());
    fits = updates == written;
  }
  if (!fits)
    return fail(ErrorCode::kInvalidInput, "indices {} and updates {} do not fit into {}", to_string(shape),
                to_string(updates), to_string(x));
  if (element_count(x) == 0 || element_count(updates) == 0) return convert_identity(node);
  if (node.needed_constant(1) == nullptr)
    return scatter_nd_computed(node, x, static_cast<std::size_t>(depth), reduction);
  COHORT_TRY(const auto indices, node.integers(1, "indices"));
  COHORT_TRY(const Positions positions, slice_positions(x, indices, static_cast<std::size_t>(depth)));
  return scatter(node, positions, reduction);
}

}  // namespace cohort::onnx
