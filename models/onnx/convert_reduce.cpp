#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "models/onnx/converters.hpp"
#include "models/onnx/positions.hpp"

namespace cohort::onnx {

namespace {

constexpr std::pair<std::string_view, ReduceKind> kKinds[] = {
    {"ReduceL1", ReduceKind::kL1},         {"ReduceL2", ReduceKind::kL2},
    {"ReduceLogSum", ReduceKind::kLogSum}, {"ReduceLogSumExp", ReduceKind::kLogSumExp},
    {"ReduceMax", ReduceKind::kMax},       {"ReduceMean", ReduceKind::kMean},
    {"ReduceMin", ReduceKind::kMin},       {"ReduceProd", ReduceKind::kProduct},
    {"ReduceSum", ReduceKind::kSum},       {"ReduceSumSquare", ReduceKind::kSumOfSquares},
};

struct ReducedAxes {
  std::vector<std::int64_t> axes;
  bool keep = true;
  bool is_identity = false;
};

/// Axes are an attribute in old opsets and an input in new ones; none means all.
Result<ReducedAxes> reduced_axes(NodeImport& node, std::size_t rank) {
  ReducedAxes result;
  std::vector<std::int64_t> given;
  if (node.has_input(1)) {
    COHORT_TRY(given, node.integers(1, "axes"));
  } else {
    COHORT_TRY(given, node.integer_list("axes", {}));
  }
  COHORT_TRY(const std::int64_t keep, node.integer("keepdims", 1));
  COHORT_TRY(const std::int64_t none_is_noop, node.integer("noop_with_empty_axes", 0));
  result.keep = keep != 0;
  COHORT_TRY(result.axes, normalize_axes(given, rank));
  if (!result.axes.empty()) return result;
  result.is_identity = none_is_noop != 0;
  result.axes.resize(result.is_identity ? 0 : rank);
  std::iota(result.axes.begin(), result.axes.end(), 0);
  return result;
}

Result<std::int64_t> reduce_whole(ReduceKind kind, const std::vector<std::int64_t>& values) {
  std::int64_t result = kind == ReduceKind::kProduct ? 1 : kind == ReduceKind::kSum ? 0 : values.front();
  for (const std::int64_t value : values) {
    bool overflows = false;
    if (kind == ReduceKind::kProduct) overflows = __builtin_mul_overflow(result, value, &result);
    if (kind == ReduceKind::kSum) overflows = __builtin_add_overflow(result, value, &result);
    if (kind == ReduceKind::kMax) result = std::max(result, value);
    if (kind == ReduceKind::kMin) result = std::min(result, value);
    if (overflows) return fail(ErrorCode::kInvalidInput, "gives more than 64 bits");
  }
  return result;
}

/// Whether these are whole numbers as shapes are, constants along one axis, whose result is one.
bool is_constant_list(const Constant* x, ReduceKind kind) {
  const bool known =
      kind == ReduceKind::kProduct || kind == ReduceKind::kSum || kind == ReduceKind::kMax || kind == ReduceKind::kMin;
  return x != nullptr && x->shape.size() <= 1 && !x->integers()->empty() && known;
}

Result<void> reduce_constant(NodeImport& node, ReduceKind kind, const ReducedAxes& axes) {
  const Constant& x = *node.constant(0);
  COHORT_TRY(const std::int64_t result, reduce_whole(kind, *x.integers()));
  const Shape shape = axes.keep ? Shape(x.shape.size(), 1) : Shape();
  node.set_alias(make_constant(shape, std::vector<std::int64_t>{result}));
  return {};
}

Shape reduced_shape(const Shape& x, const ReducedAxes& axes) {
  Shape shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool is_reduced = std::binary_search(axes.axes.begin(), axes.axes.end(), static_cast<std::int64_t>(d));
    if (!is_reduced) shape.push_back(x[d]);
    if (is_reduced && axes.keep) shape.push_back(1);
  }
  return shape;
}

Result<TensorId> part_of(NodeImport& node, TensorId x, std::size_t axis, std::int64_t first, std::int64_t count) {
  TensorSlice slice{Shape(node.shape_of(x).size(), 0), Shape(node.shape_of(x).size(), 1), node.shape_of(x)};
  slice.start[axis] = first;
  slice.count[axis] = count;
  return node.emit("part", std::move(slice), {x});
}

/// The halves of an axis are combined until it has one entry: exact, as float32 is not.
Result<TensorId> combined_along(NodeImport& node, BinaryKind kind, TensorId x, std::size_t axis) {
  for (std::int64_t count = node.shape_of(x)[axis]; count > 1; count = node.shape_of(x)[axis]) {
    COHORT_TRY(const TensorId first, part_of(node, x, axis, 0, count / 2));
    COHORT_TRY(const TensorId second, part_of(node, x, axis, count / 2, count / 2));
    COHORT_TRY(TensorId combined, whole(node, "combined", kind, first, second));
    if (count % 2 != 0) {
      COHORT_TRY(const TensorId last, part_of(node, x, axis, count - 1, 1));
      COHORT_TRY(combined, node.emit("with_last", Concat{static_cast<std::int64_t>(axis)}, {combined, last}));
    }
    x = combined;
  }
  return x;
}

/// What is combined of whole numbers, of one of them.
Result<TensorId> whole_term(NodeImport& node, ReduceKind kind, TensorId x) {
  if (kind == ReduceKind::kSumOfSquares) return whole(node, "square", BinaryKind::kMul, x, x);
  return kind == ReduceKind::kL1 ? whole_size(node, "size", x) : Result<TensorId>(x);
}

/// One float32 element by itself: "ReduceSumSquare returns the Square", as ONNX says.
Result<TensorId> float_term(NodeImport& node, ReduceKind kind, TensorId x) {
  if (kind == ReduceKind::kSumOfSquares) return binary(node, "", BinaryKind::kMul, x, x);
  return node.emit("", Activation{kind == ReduceKind::kLogSum ? ActivationKind::kLog : ActivationKind::kAbs}, {x});
}

Result<void> reduce_along_no_axis(NodeImport& node, ReduceKind kind, ElementType element) {
  const bool is_size = kind == ReduceKind::kL1 || kind == ReduceKind::kL2;
  if (!is_size && kind != ReduceKind::kSumOfSquares && kind != ReduceKind::kLogSum) return convert_identity(node);
  const bool is_float = element == ElementType::kFloat32;
  if (!is_float && kind == ReduceKind::kLogSum)
    return fail(ErrorCode::kInvalidInput, "of whole numbers is not supported");
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y,
             is_float ? float_term(node, kind, x) : whole_term(node, is_size ? ReduceKind::kL1 : kind, x));
  node.set_result(y);
  return {};
}

Result<void> reduce_whole_numbers(NodeImport& node, ReduceKind kind, const ReducedAxes& axes, const Shape& shape) {
  if (is_constant_list(node.constant(0), kind)) return reduce_constant(node, kind, axes);
  if (element_count(shape) == 0 || kind == ReduceKind::kL2 || kind == ReduceKind::kLogSum ||
      kind == ReduceKind::kLogSumExp)
    return fail(ErrorCode::kInvalidInput, "of whole numbers {} is not supported", to_string(shape));
  BinaryKind combine = BinaryKind::kAdd;
  if (kind == ReduceKind::kMax) combine = BinaryKind::kMax;
  if (kind == ReduceKind::kMin) combine = BinaryKind::kMin;
  if (kind == ReduceKind::kProduct) combine = BinaryKind::kMul;
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(TensorId y, whole_term(node, kind, x));
  std::int64_t count = 1;
  for (const std::int64_t axis : axes.axes) {
    count *= shape[static_cast<std::size_t>(axis)];
    COHORT_TRY(y, combined_along(node, combine, y, static_cast<std::size_t>(axis)));
  }
  if (kind == ReduceKind::kMean) {
    COHORT_CHECK(check_positions(shape));
    const TensorId counted = node.scalar("count", static_cast<float>(count), kWhole);
    COHORT_TRY(y, whole(node, "mean", BinaryKind::kDiv, y, counted));
  }
  COHORT_TRY(y, node.emit_reshape("", y, reduced_shape(shape, axes)));
  node.set_result(y);
  return {};
}

/// A tensor without elements has the same result whatever it is.
Result<void> reduce_nothing(NodeImport& node, ReduceKind kind, const ReducedAxes& axes, const Shape& x) {
  Shape shape = reduced_shape(x, axes);
  COHORT_CHECK(node.claim(element_count(shape)));
  const auto count = static_cast<std::size_t>(element_count(shape));
  node.set_alias(make_constant(std::move(shape), std::vector<float>(count, of_nothing(kind))));
  return {};
}

/// `x` moved by `step` entries along `axis`, to the end or with `is_reversed` to the front, `none` where nothing came.
Result<TensorId> shifted(NodeImport& node, TensorId x, std::size_t axis, std::int64_t step, bool is_reversed,
                         float none) {
  const Shape shape = node.shape_of(x);
  COHORT_TRY(const TensorId kept, part_of(node, x, axis, is_reversed ? step : 0, shape[axis] - step));
  Pad pad{PadMode::kConstant, Shape(shape.size(), 0), Shape(shape.size(), 0), none, node.element_of(x)};
  (is_reversed ? pad.end : pad.begin)[axis] = step;
  return node.emit(fmt::format("moved{}", step), std::move(pad), {kept});
}

}  // namespace

float of_nothing(ReduceKind kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (kind) {
    case ReduceKind::kMean:
      return std::numeric_limits<float>::quiet_NaN();
    case ReduceKind::kProduct:
      return 1;
    case ReduceKind::kMin:
      return kInfinity;
    case ReduceKind::kMax:
    case ReduceKind::kLogSum:
    case ReduceKind::kLogSumExp:
      return -kInfinity;
    default:
      return 0;
  }
}

/// In steps that double: after each, an entry is the sum or product of twice as many.
Result<void> convert_cumulative(NodeImport& node) {
  const bool is_sum = node.op_type() == "CumSum";
  const BinaryKind kind = is_sum ? BinaryKind::kAdd : BinaryKind::kMul;
  const int none = is_sum ? 0 : 1;
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const auto axes, node.integers(1, "axis"));
  if (axes.size() != 1) return fail(ErrorCode::kInvalidInput, "axis must be one number, not {}", axes.size());
  COHORT_TRY(const std::size_t axis, normalize_axis(axes[0], shape.size()));
  COHORT_TRY(const std::int64_t exclusive, node.integer("exclusive", 0));
  COHORT_TRY(const std::int64_t reverse, node.integer("reverse", 0));
  COHORT_TRY(TensorId y, node.tensor(0));
  if (shape[axis] <= 1 && exclusive == 0) return convert_identity(node);
  if (shape[axis] <= 1) {
    COHORT_CHECK(node.claim(element_count(shape)));
    const auto count = static_cast<std::size_t>(element_count(shape));
    const bool is_float = node.element_of(y) == ElementType::kFloat32;
    node.set_alias(is_float ? make_constant(shape, std::vector<float>(count, static_cast<float>(none)))
                            : make_constant(shape, std::vector<std::int64_t>(count, none)));
    return {};
  }
  if (exclusive != 0) {
    COHORT_TRY(y, shifted(node, y, axis, 1, reverse != 0, static_cast<float>(none)));
  }
  for (std::int64_t step = 1; step < shape[axis]; step *= 2) {
    COHORT_TRY(const TensorId moved, shifted(node, y, axis, step, reverse != 0, static_cast<float>(none)));
    const bool is_last = step * 2 >= shape[axis];
    COHORT_TRY(y, node.emit(is_last ? "" : fmt::format("{}{}", is_sum ? "sum" : "product", step * 2),
                            Binary{kind, node.element_of(y)}, {y, moved}));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_reduce(NodeImport& node) {
  const ReduceKind kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& each) {
                            return each.first == node.op_type();
                          })->second;
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const ElementType element, node.element(0));
  COHORT_TRY(ReducedAxes axes, reduced_axes(node, shape.size()));
  if (axes.is_identity) return reduce_along_no_axis(node, kind, element);
  if (element == ElementType::kFloat32 && element_count(shape) == 0) return reduce_nothing(node, kind, axes, shape);
  if (element != ElementType::kFloat32) return reduce_whole_numbers(node, kind, axes, shape);
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId y, node.emit("", Reduce{kind, std::move(axes.axes), axes.keep}, {x}));
  node.set_result(y);
  return {};
}

Result<void> convert_arg_max(NodeImport& node) {
  COHORT_TRY(const Shape shape, node.shape(0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, shape.size()));
  COHORT_TRY(const std::int64_t keep, node.integer("keepdims", 1));
  COHORT_TRY(const std::int64_t last, node.integer("select_last_index", 0));
  COHORT_TRY(const TensorId x, node.tensor(0));
  const ArgMax op{static_cast<std::int64_t>(axis), keep != 0, last != 0, node.op_type() == "ArgMin"};
  COHORT_TRY(const TensorId order, order_of(node, x));
  COHORT_TRY(const TensorId y, node.emit("", op, {order}));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
