#include <algorithm>

#include "models/compute/ops.hpp"
#include "models/onnx/graph_writer.hpp"
#include "models/onnx/resized_extent.hpp"

namespace cohort::onnx {

namespace {

constexpr auto kBool = ::onnx::TensorProto::BOOL;
constexpr auto kInt32 = ::onnx::TensorProto::INT32;

/// A reader makes the scales of the extents it is given.
bool sizes_say_it(const Resize& resize, const Shape& x) {
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (resize.scale[d] != static_cast<double>(resize.shape[d]) / static_cast<double>(x[d])) return false;
  }
  return true;
}

/// A reader makes the extents of the scales it is given, which are float32.
bool scales_say_it(const Resize& resize, const Shape& x) {
  for (std::size_t d = 0; d < x.size(); ++d) {
    const double scale = resize.scale[d];
    if (scale != static_cast<double>(static_cast<float>(scale))) return false;
    if (resized_extent(x[d], static_cast<float>(scale)) != resize.shape[d]) return false;
  }
  return true;
}

}  // namespace

Result<void> GraphWriter::write_node(const Op& op, const Activation& activation, const std::string& y) {
  COHORT_TRY(const std::string x, input_name(op, 0));
  write_activation(op.name, activation, x, y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Binary& binary, const std::string& y) {
  const bool logic = binary.kind >= BinaryKind::kAnd;
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < 2; ++i) {
    COHORT_TRY(std::string operand, input_name(op, i));
    operands.push_back(logic ? cast(op, operand, kBool) : operand);
  }
  Node& node = add_node(op.name, op_type(binary));
  for (const std::string& operand : operands) node.add_input(operand);
  if (binary.kind == BinaryKind::kMod) set(node, "fmod", std::int64_t{1});
  const std::string result = is_predicate(binary.kind) ? unique(y + "/truth") : y;
  node.add_output(result);
  if (is_predicate(binary.kind)) cast_to(op, result, kInt32, y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Select& /*select*/, const std::string& y) {
  COHORT_TRY(const std::string condition, input_name(op, 0));
  const std::string truth = cast(op, condition, kBool);
  Node& node = add_node(op.name, "Where");
  node.add_input(truth);
  COHORT_CHECK(add_inputs(node, op, 1));
  node.add_output(y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Cast& conversion, const std::string& y) {
  COHORT_TRY(const std::string x, input_name(op, 0));
  const bool to_float = !conversion.to_truth && conversion.to == ElementType::kFloat32;
  cast_to(op, conversion.to_truth ? cast(op, x, kBool) : x, to_float ? ::onnx::TensorProto::FLOAT : kInt32, y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Concat& concat, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Concat", y));
  set(*node, "axis", concat.axis);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Reshape& /*reshape*/, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Reshape", y));
  const Shape& shape = model_.tensor(op.outputs[0]).shape;
  node->add_input(write_integers(op.name + ".shape", shape));
  if (element_count(shape) == 0) set(*node, "allowzero", std::int64_t{1});
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Transpose& transpose, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Transpose", y));
  set(*node, "perm", transpose.permutation);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const TensorSlice& slice, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Slice", y));
  std::vector<std::int64_t> ends, axes;
  for (std::size_t d = 0; d < slice.start.size(); ++d) {
    const std::int64_t last = slice.start[d] + (slice.count[d] - 1) * slice.step[d];
    const bool to_the_front = slice.step[d] < 0 && last == 0;
    ends.push_back(to_the_front ? INT64_MIN : slice.step[d] < 0 ? last - 1 : last + 1);
    axes.push_back(static_cast<std::int64_t>(d));
  }
  node->add_input(write_integers(op.name + ".starts", slice.start));
  node->add_input(write_integers(op.name + ".ends", ends));
  node->add_input(write_integers(op.name + ".axes", axes));
  node->add_input(write_integers(op.name + ".steps", slice.step));
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Pad& pad, const std::string& y) {
  constexpr const char* kModes[] = {"constant", "reflect", "edge", "wrap"};
  COHORT_TRY(Node* const node, add_plain_node(op, "Pad", y));
  std::vector<std::int64_t> pads = pad.begin;
  pads.insert(pads.end(), pad.end.begin(), pad.end.end());
  node->add_input(write_integers(op.name + ".pads", pads));
  set(*node, "mode", kModes[static_cast<std::size_t>(pad.mode)]);
  if (pad.mode != PadMode::kConstant) return {};
  if (pad.element == ElementType::kFloat32) {
    node->add_input(write_floats(unique(op.name + ".value"), {}, {pad.value}));
    return {};
  }
  auto& value = *graph_.add_initializer();
  value.set_name(unique(op.name + ".value"));
  value.set_data_type(kInt32);
  value.add_int32_data(static_cast<std::int32_t>(pad.value));
  node->add_input(value.name());
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Gather& gather, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Gather", y));
  set(*node, "axis", gather.axis);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Scatter& scatter, const std::string& y) {
  const Shape updates = shape_of(op, 2);
  COHORT_TRY(const std::string x, input_name(op, 0));
  COHORT_TRY(std::string indices, input_name(op, 1));
  COHORT_TRY(const std::string update, input_name(op, 2));
  if (shape_of(op, 1) != updates) {
    indices = chain(op, "Expand", indices);
    graph_.mutable_node(graph_.node_size() - 1)->add_input(write_integers(op.name + ".shape", updates));
  }
  Node& node = add_node(op.name, "ScatterElements");
  for (const std::string& input : {x, indices, update}) node.add_input(input);
  node.add_output(y);
  set(node, "axis", std::int64_t{1});
  if (!scatter.reduction) return {};
  const bool adds = *scatter.reduction == BinaryKind::kAdd, multiplies = *scatter.reduction == BinaryKind::kMul;
  const bool is_least = *scatter.reduction == BinaryKind::kMin;
  set(node, "reduction", adds ? "add" : multiplies ? "mul" : is_least ? "min" : "max");
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Expand& expand, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Expand", y));
  node->add_input(write_integers(op.name + ".shape", expand.shape));
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Tile& tile, const std::string& y) {
  COHORT_TRY(Node* const node, add_plain_node(op, "Tile", y));
  node->add_input(write_integers(op.name + ".repeats", tile.repeats));
  return {};
}

/// Of the nearest elements an index for each position, axis by axis, picks the same as any Resize does.
Result<void> GraphWriter::write_nearest(const Op& op, const Resize& resize, const std::string& y) {
  COHORT_TRY(std::string x, input_name(op, 0));
  for (std::size_t d = 0; d < resize.shape.size(); ++d) {
    x = chain(op, "Gather", x);
    const int node = graph_.node_size() - 1;
    const std::vector<std::int64_t> elements = reference::nearest_elements(resize, d, shape_of(op, 0)[d]);
    graph_.mutable_node(node)->add_input(write_integers(op.name + ".elements", elements));
    set(*graph_.mutable_node(node), "axis", static_cast<std::int64_t>(d));
  }
  Node& last = add_node(op.name, "Identity");
  last.add_input(x);
  last.add_output(y);
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const Resize& resize, const std::string& y) {
  constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  constexpr const char* kPositions[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel", "",
                                        "align_corners", "asymmetric",           "tf_crop_and_resize"};
  constexpr const char* kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const bool has_positions = resize.positions != ResizePositions::kHalfPixelNearest;
  const bool by_sizes = sizes_say_it(resize, shape_of(op, 0));
  if (!has_positions || !(by_sizes || scales_say_it(resize, shape_of(op, 0)))) {
    if (resize.mode == ResizeMode::kNearest && resize.positions != ResizePositions::kCrop)
      return write_nearest(op, resize, y);
    return fail(ErrorCode::kInvalidInput, "{}: mode nearest can be written then, no other",
                has_positions ? "its scales neither are float32 and give its extents, nor are ratios of extents"
                              : "its positions, tf_half_pixel_for_nn, have left ONNX with opset 13");
  }
  COHORT_TRY(Node* const node, add_plain_node(op, "Resize", y));
  std::vector<float> roi = resize.crop_begin;
  roi.insert(roi.end(), resize.crop_end.begin(), resize.crop_end.end());
  const auto rank = static_cast<std::int64_t>(resize.shape.size());
  node->add_input(roi.empty() ? std::string() : write_floats(unique(op.name + ".roi"), {2 * rank}, roi));
  if (by_sizes) {
    node->add_input("");
    node->add_input(write_integers(op.name + ".sizes", resize.shape));
  } else {
    const std::vector<float> scales(resize.scale.begin(), resize.scale.end());
    node->add_input(write_floats(unique(op.name + ".scales"), {rank}, scales));
  }
  set(*node, "mode", kModes[static_cast<std::size_t>(resize.mode)]);
  set(*node, "coordinate_transformation_mode", kPositions[static_cast<std::size_t>(resize.positions)]);
  set(*node, "nearest_mode", kRoundings[static_cast<std::size_t>(resize.rounding)]);
  set(*node, "cubic_coeff_a", resize.cubic_coefficient);
  set(*node, "extrapolation_value", resize.outside);
  if (resize.exclude_outside) set(*node, "exclude_outside", std::int64_t{1});
  if (resize.antialias) set(*node, "antialias", std::int64_t{1});
  return {};
}

/// Axes are an attribute before opset 18, of a sum before opset 13.
Result<void> GraphWriter::write_node(const Op& op, const Reduce& reduce, const std::string& y) {
  if (reduce.axes.empty() && !shape_of(op, 0).empty())
    return fail(ErrorCode::kInvalidInput, "a reduction of no axes cannot be written");
  COHORT_TRY(Node* const node, add_plain_node(op, op_type(reduce), y));
  set(*node, "keepdims", std::int64_t{reduce.keep_axes ? 1 : 0});
  if (reduce.axes.empty()) return {};
  if (opset_ >= 18 || reduce.kind == ReduceKind::kSum) {
    node->add_input(write_integers(op.name + ".axes", reduce.axes));
  } else {
    set(*node, "axes", reduce.axes);
  }
  return {};
}

Result<void> GraphWriter::write_node(const Op& op, const ArgMax& arg_max, const std::string& y) {
  const std::string result = unique(y + "/position");
  if (arg_max.count > 1) {
    COHORT_TRY(Node* const node, add_plain_node(op, "TopK", unique(y + "/value")));
    node->add_input(write_integers(op.name + ".count", {arg_max.count}));
    node->add_output(result);
    set(*node, "axis", arg_max.axis);
    set(*node, "largest", std::int64_t{arg_max.smallest ? 0 : 1});
    cast_to(op, result, kInt32, y);
    return {};
  }
  COHORT_TRY(Node* const node, add_plain_node(op, arg_max.smallest ? "ArgMin" : "ArgMax", result));
  set(*node, "axis", arg_max.axis);
  set(*node, "keepdims", std::int64_t{arg_max.keep_axis ? 1 : 0});
  if (arg_max.last) set(*node, "select_last_index", std::int64_t{1});
  cast_to(op, result, kInt32, y);
  return {};
}

}  // namespace cohort::onnx
