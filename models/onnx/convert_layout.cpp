#include <algorithm>
#include <numeric>

#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"

namespace cohort::onnx {

namespace {

/// x[start + i*step] for all axes: everything, to be narrowed axis by axis.
TensorSlice whole(const Shape& shape) { return {Shape(shape.size(), 0), Shape(shape.size(), 1), shape}; }

Result<void> emit_slice(NodeImport& node, TensorSlice slice) {
  COHORT_TRY(const Shape shape, node.shape(0));
  if (slice == whole(shape)) return convert_identity(node);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", std::move(slice), {x}));
  node.set_result(y);
  return {};
}

/// Extents of a Split's parts along an axis of `extent` elements.
Result<std::vector<std::int64_t>> split_parts(NodeImport& node, std::int64_t extent) {
  const auto outputs = static_cast<std::int64_t>(node.output_count());
  std::vector<std::int64_t> parts;
  if (node.has_input(1)) {
    COHORT_TRY(parts, node.integers(1, "split"));
  } else {
    COHORT_TRY(parts, node.integer_list("split", {}));
  }
  COHORT_TRY(const std::int64_t asked, node.integer("num_outputs", outputs));
  if (asked != outputs)
    return fail(ErrorCode::kInvalidInput, "attribute num_outputs is {}, but the node has {} outputs", asked, outputs);
  if (parts.empty()) {
    const std::int64_t each = (extent + outputs - 1) / outputs;
    if (each == 0) return std::vector<std::int64_t>(node.output_count(), 0);
    if (node.opset() < 18 && extent % outputs != 0)
      return fail(ErrorCode::kInvalidInput, "{} elements do not divide into {} equal parts", extent, outputs);
    for (std::int64_t begin = 0; begin < each * outputs; begin += each)
      parts.push_back(std::clamp<std::int64_t>(extent - begin, 0, each));
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > extent)
      return fail(ErrorCode::kInvalidInput, "a part of {} elements is not possible, only 0 to {}", part, extent);
    sum += part;
  }
  if (sum != extent || static_cast<std::int64_t>(parts.size()) != outputs)
    return fail(ErrorCode::kInvalidInput, "parts of {} elements in all for {} outputs do not make up the {} there are",
                sum, outputs, extent);
  return parts;
}

/// Input 0 as `inner`, its axes permuted, as `outer`.
Result<void> shuffle(NodeImport& node, Shape inner, std::vector<std::int64_t> permutation, Shape outer) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId blocks, node.emit_reshape("blocks", x, std::move(inner)));
  COHORT_TRY(const TensorId moved, node.emit("moved", Transpose{std::move(permutation)}, {blocks}));
  COHORT_TRY(const TensorId y, node.emit_reshape("", moved, std::move(outer)));
  node.set_result(y);
  return {};
}

Result<std::int64_t> block_size(NodeImport& node, const Shape& x) {
  COHORT_TRY(const std::int64_t block, node.integer("blocksize", 0));
  if (x.size() != 4) return fail(ErrorCode::kInvalidInput, "takes images [N, C, H, W], not {}", to_string(x));
  constexpr std::int64_t kMost = 1 << 20;
  if (block < 1 || block > kMost)
    return fail(ErrorCode::kInvalidInput, "attribute blocksize must be from 1 to {}, not {}", kMost, block);
  return block;
}

Result<PadMode> pad_mode(NodeImport& node) {
  COHORT_TRY(const std::string mode, node.text("mode", "constant"));
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "wrap") return PadMode::kWrap;
  return fail(ErrorCode::kInvalidInput, "attribute mode must be constant, reflect, edge or wrap, not {}", mode);
}

/// What a Pad fills with: an attribute before opset 11, an input since.
Result<float> pad_value(NodeImport& node) {
  if (node.opset() < 11) return node.number("value", 0);
  if (!node.has_input(2)) return 0.0F;
  const Constant* value = node.needed_constant(2);
  if (value == nullptr) return node.not_constant(2, "the value to pad with");
  if (element_count(value->shape) != 1)
    return fail(ErrorCode::kInvalidInput, "the value to pad with must be one number");
  if (const auto* floats = value->floats()) return floats->front();
  const std::int64_t number = value->integers()->front();
  if (std::abs(number) > (1 << 24)) return fail(ErrorCode::kInvalidInput, "{} is too large to pad with", number);
  return static_cast<float>(number);
}

}  // namespace

Result<void> convert_transpose(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  COHORT_TRY(const auto permutation, permutation_of(node, from.size()));
  Shape shape;
  std::vector<std::size_t> wide;
  std::vector<std::int64_t> axes;
  for (const std::size_t axis : permutation) {
    shape.push_back(from[axis]);
    axes.push_back(static_cast<std::int64_t>(axis));
    if (from[axis] != 1) wide.push_back(axis);
  }
  // Moving dimensions of extent 1 leaves the elements where they are.
  if (std::is_sorted(wide.begin(), wide.end())) return reshape_to(node, shape);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Transpose{std::move(axes)}, {x}));
  node.set_result(y);
  return {};
}

Result<void> convert_concat(NodeImport& node) {
  COHORT_TRY(const Shape first, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, first.size()));
  const Concat concat{static_cast<std::int64_t>(axis)};
  std::vector<Shape> shapes;
  std::vector<std::size_t> parts;  // that have elements
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    COHORT_TRY(Shape shape, node.shape(i));
    if (element_count(shape) > 0) parts.push_back(i);
    shapes.push_back(std::move(shape));
  }
  COHORT_CHECK(infer_shape_with_zeros(concat, shapes).map([](const Shape&) {}));
  if (parts.size() == 1) {
    node.set_alias(Value(*node.value(parts[0])));
    return {};
  }
  std::vector<TensorId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (element_count(shapes[i]) == 0 && !parts.empty()) continue;
    COHORT_TRY(const TensorId input, node.tensor(i));
    inputs.push_back(input);
  }
  COHORT_TRY(const TensorId y, node.emit("", concat, std::move(inputs)));
  node.set_result(y);
  return {};
}

Result<void> convert_slice(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const auto ranges, slice_ranges(node, shape));
  TensorSlice slice = whole(shape);
  for (const AxisSlice& range : ranges) {
    slice.start[range.axis] = range.start;
    slice.step[range.axis] = range.count > 1 ? range.step : 1;
    slice.count[range.axis] = range.count;
  }
  return emit_slice(node, std::move(slice));
}

Result<void> convert_split(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const auto parts, split_parts(node, shape[axis]));
  if (parts.size() == 1) return convert_identity(node);
  COHORT_TRY(const TensorId x, node.tensor(0));
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TensorSlice slice = whole(shape);
    slice.start[axis] = begin;
    slice.count[axis] = parts[i];
    begin += parts[i];
    if (!node.is_read(i)) continue;
    COHORT_TRY(const TensorId y, node.emit(i == 0 ? std::string() : fmt::format("part{}", i), std::move(slice), {x}));
    node.set_result(y, i);
  }
  return {};
}

Result<void> convert_gather(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_CHECK(check_indices(node, 1, std::span(shape).subspan(axis, 1)));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId indices, node.tensor(1));
  COHORT_TRY(const TensorId y, node.emit("", Gather{static_cast<std::int64_t>(axis)}, {x, indices}));
  node.set_result(y);
  return {};
}

Result<void> convert_expand(NodeImport& node) {
  COHORT_TRY(const Shape from, node.shape(0));
  COHORT_TRY(const Shape asked, node.integers(1, "shape"));
  // Both may repeat: what the op does is what addition does to shapes.
  COHORT_TRY(const Shape shape, infer_shape_with_zeros(Binary{}, {from, asked}));
  if (shape == from) return convert_identity(node);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Expand{shape}, {x}));
  node.set_result(y);
  return {};
}

Result<void> convert_tile(NodeImport& node) {
  COHORT_TRY(auto repeats, node.integers(1, "repeats"));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Tile{std::move(repeats)}, {x}));
  node.set_result(y);
  return {};
}

Result<void> convert_pad(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  Pad pad;
  COHORT_TRY(pad.mode, pad_mode(node));
  COHORT_TRY(pad.element, node.element(0));
  COHORT_TRY(pad.value, pad_value(node));
  std::vector<std::int64_t> pads;
  if (node.opset() < 11) {
    COHORT_TRY(pads, node.integer_list("pads", {}));
  } else {
    COHORT_TRY(pads, node.integers(1, "pads"));
  }
  std::vector<std::int64_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has_input(3)) {
    COHORT_TRY(axes, node.integers(3, "axes"));
  }
  if (pads.size() != 2 * axes.size())
    return fail(ErrorCode::kInvalidInput, "pads must have {} entries, not {}", 2 * axes.size(), pads.size());
  pad.begin = pad.end = std::vector<std::int64_t>(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    COHORT_TRY(const std::size_t axis, normalize_axis(axes[i], shape.size()));
    pad.begin[axis] = pads[i];
    pad.end[axis] = pads[i + axes.size()];
  }
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", std::move(pad), {x}));
  node.set_result(y);
  return {};
}

namespace {

/// The extents that a CenterCropPad asks for, of all axes.
Result<Shape> asked_extents(NodeImport& node, Shape shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  COHORT_TRY(const auto extents, node.integers(1, "shape"));
  std::vector<std::int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  COHORT_TRY(const auto axes, node.integer_list("axes", std::move(all)));
  if (extents.size() != axes.size())
    return fail(ErrorCode::kInvalidInput, "shape must have {} entries, not {}", axes.size(), extents.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    COHORT_TRY(const std::size_t axis, normalize_axis(axes[i], shape.size()));
    if (extents[i] < 0 || extents[i] > kMost)
      return fail(ErrorCode::kInvalidInput, "shape must hold numbers from 0 to {}, not {}", kMost, extents[i]);
    shape[axis] = extents[i];
  }
  return shape;
}

}  // namespace

/// The middle of axes, or zeros on both of their sides. An odd entry goes or comes behind.
Result<void> convert_center_crop_pad(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const Shape asked, asked_extents(node, shape));
  if (asked == shape) return convert_identity(node);
  COHORT_TRY(TensorId x, node.tensor(0));
  TensorSlice middle = whole(shape);
  Pad pad{PadMode::kConstant, Shape(shape.size(), 0), Shape(shape.size(), 0), 0, node.element_of(x)};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    middle.count[axis] = std::min(asked[axis], shape[axis]);
    middle.start[axis] = (shape[axis] - middle.count[axis]) / 2;
    pad.begin[axis] = (asked[axis] - middle.count[axis]) / 2;
    pad.end[axis] = asked[axis] - middle.count[axis] - pad.begin[axis];
  }
  const bool is_padded = middle.count != asked;
  if (middle.count != shape) {
    COHORT_TRY(x, node.emit(is_padded ? "middle" : "", std::move(middle), {x}));
  }
  if (is_padded) {
    COHORT_TRY(x, node.emit("", std::move(pad), {x}));
  }
  node.set_result(x);
  return {};
}

/// Each sequence's first entries in reverse, the others as they are.
Result<void> convert_reverse_sequence(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t time_attribute, node.integer("time_axis", 0));
  COHORT_TRY(const std::int64_t batch_attribute, node.integer("batch_axis", 1));
  COHORT_TRY(const std::size_t time, normalize_axis(time_attribute, shape.size()));
  COHORT_TRY(const std::size_t batch, normalize_axis(batch_attribute, shape.size()));
  COHORT_TRY(const auto lengths, node.integers(1, "sequence_lens"));
  if (time == batch) return fail(ErrorCode::kInvalidInput, "time_axis and batch_axis are both {}", time);
  if (static_cast<std::int64_t>(lengths.size()) != shape[batch])
    return fail(ErrorCode::kInvalidInput, "sequence_lens must have {} entries, not {}", shape[batch], lengths.size());
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > shape[time])
      return fail(ErrorCode::kInvalidInput, "a sequence of {} entries is not possible, only 0 to {}", length,
                  shape[time]);
  }
  COHORT_TRY(const TensorId x, node.tensor(0));
  std::vector<TensorId> sequences;  // neighbours of one length together
  for (std::size_t begin = 0, end = 0; begin < lengths.size(); begin = end) {
    while (end < lengths.size() && lengths[end] == lengths[begin]) ++end;
    TensorSlice turned = whole(shape);
    turned.start[batch] = static_cast<std::int64_t>(begin);
    turned.count[batch] = static_cast<std::int64_t>(end - begin);
    TensorSlice rest = turned;
    rest.start[time] = turned.count[time] = lengths[begin];
    rest.count[time] = shape[time] - lengths[begin];
    turned.start[time] = lengths[begin] - 1;
    turned.step[time] = -1;
    std::vector<TensorId> parts;
    if (lengths[begin] > 0) {
      COHORT_TRY(parts.emplace_back(), node.emit("turned", std::move(turned), {x}));
    }
    if (lengths[begin] < shape[time]) {
      COHORT_TRY(parts.emplace_back(), node.emit("rest", std::move(rest), {x}));
    }
    TensorId& sequence = sequences.emplace_back(parts.front());
    if (parts.size() > 1) {
      COHORT_TRY(sequence, node.emit("sequence", Concat{static_cast<std::int64_t>(time)}, parts));
    }
  }
  TensorId y = sequences.front();
  if (sequences.size() > 1) {
    COHORT_TRY(y, node.emit("", Concat{static_cast<std::int64_t>(batch)}, sequences));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_depth_to_space(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const std::int64_t block, block_size(node, x));
  COHORT_TRY(const std::string mode, node.text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return fail(ErrorCode::kInvalidInput, "attribute mode must be DCR or CRD, not {}", mode);
  if (x[1] % (block * block) != 0)
    return fail(ErrorCode::kInvalidInput, "{} channels do not divide into blocks of {}", x[1], block * block);
  const std::int64_t channels = x[1] / (block * block);
  const Shape outer{x[0], channels, x[2] * block, x[3] * block};
  if (mode == "DCR") return shuffle(node, {x[0], block, block, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, outer);
  return shuffle(node, {x[0], channels, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, outer);
}

Result<void> convert_space_to_depth(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const std::int64_t block, block_size(node, x));
  if (x[2] % block != 0 || x[3] % block != 0)
    return fail(ErrorCode::kInvalidInput, "{} does not divide into blocks of {}", to_string(x), block);
  COHORT_TRY(const std::string mode, node.text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return fail(ErrorCode::kInvalidInput, "attribute mode must be DCR or CRD, not {}", mode);
  const std::int64_t rows = x[2] / block;
  const std::int64_t columns = x[3] / block;
  const Shape outer{x[0], x[1] * block * block, rows, columns};
  const Shape inner{x[0], x[1], rows, block, columns, block};
  return shuffle(node, inner, mode == "DCR" ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4}, outer);
}

}  // namespace cohort::onnx
