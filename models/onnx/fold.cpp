#include <algorithm>
#include <cmath>
#include <limits>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

std::size_t count_of(const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); }

std::size_t extent(const Shape& shape, std::size_t axis) { return static_cast<std::size_t>(shape[axis]); }

/// Product of the extents in [first, last).
std::size_t product(const Shape& shape, std::size_t first, std::size_t last) {
  const auto begin = shape.begin();
  return count_of(Shape(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)));
}

/// Input 0, which folding needs present.
Result<const Constant*> operand(NodeImport& node, std::size_t i) {
  if (const Constant* constant = node.constant(i)) return constant;
  return fail(ErrorCode::kInvalidInput, "input {} is missing", i);
}

/// A constant of `shape` whose element i is element index(i) of `from`.
template <class Index>
Result<Constant> gathered(NodeImport& node, const Constant& from, Shape shape, const Index& index) {
  COHORT_CHECK(node.claim(element_count(shape)));
  const std::size_t count = count_of(shape);
  if (const auto* integers = from.integers()) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = (*integers)[index(i)];
    return make_constant(std::move(shape), std::move(values), from.type);
  }
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = (*from.floats())[index(i)];
  return make_constant(std::move(shape), std::move(values), from.type);
}

/// Steps in elements from one entry of an axis of `shape` to the next, when broadcast to `rank` axes.
std::vector<std::size_t> broadcast_strides(const Shape& shape, std::size_t rank) {
  std::vector<std::size_t> strides(rank, 0);
  std::size_t step = 1;
  for (std::size_t i = shape.size(); i > 0; --i) {
    if (shape[i - 1] != 1) strides[rank - shape.size() + i - 1] = step;
    step *= extent(shape, i - 1);
  }
  return strides;
}

/// Position in a tensor of these strides of element `i` of a dense tensor of `shape`.
std::size_t position(std::size_t i, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::size_t at = 0;
  for (std::size_t axis = shape.size(); axis > 0; --axis) {
    at += i % extent(shape, axis - 1) * strides[axis - 1];
    i /= extent(shape, axis - 1);
  }
  return at;
}

Result<std::int64_t> apply(BinaryKind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (kind) {
    case BinaryKind::kAdd:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryKind::kSub:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryKind::kMul:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryKind::kDiv:
      if (b == 0) return fail(ErrorCode::kInvalidInput, "divides by zero");
      overflows = a == INT64_MIN && b == -1;
      if (!overflows) result = a / b;
      break;
    case BinaryKind::kBitwiseAnd:
      result = a & b;
      break;
    case BinaryKind::kBitwiseOr:
      result = a | b;
      break;
    case BinaryKind::kBitwiseXor:
      result = a ^ b;
      break;
    default:
      return fail(ErrorCode::kInvalidInput, "is not supported on whole numbers");
  }
  if (overflows) return fail(ErrorCode::kInvalidInput, "{} and {} give more than 64 bits", a, b);
  return result;
}

/// Of whole numbers.
Result<Constant> fold_binary(NodeImport& node, BinaryKind kind) {
  COHORT_TRY(const Constant* const a, operand(node, 0));
  COHORT_TRY(const Constant* const b, operand(node, 1));
  node.ignore("consumed_inputs");
  COHORT_TRY(const Shape aligned, aligned_operand(node, a->shape, b->shape));
  if (a->integers() == nullptr || b->integers() == nullptr)
    return fail(ErrorCode::kInvalidInput, "mixes whole numbers and float32");
  COHORT_TRY(Shape shape, infer_shape_with_zeros(Binary{kind}, {a->shape, aligned}));
  COHORT_CHECK(node.claim(element_count(shape)));
  const auto a_strides = broadcast_strides(a->shape, shape.size());
  const auto b_strides = broadcast_strides(aligned, shape.size());
  std::vector<std::int64_t> values(count_of(shape));
  for (std::size_t i = 0; i < values.size(); ++i) {
    COHORT_TRY(values[i], apply(kind, (*a->integers())[position(i, shape, a_strides)],
                                (*b->integers())[position(i, shape, b_strides)]));
  }
  return make_constant(std::move(shape), std::move(values));
}

Result<Constant> sliced(NodeImport& node, const Constant& from, const AxisSlice& slice) {
  const std::size_t axis = slice.axis;
  Shape shape = from.shape;
  shape[axis] = slice.count;
  const std::size_t inner = product(shape, axis + 1, shape.size());
  const auto kept = static_cast<std::size_t>(slice.count);
  const std::size_t whole = extent(from.shape, axis);
  return gathered(node, from, std::move(shape), [=](std::size_t i) {
    const std::size_t outer = i / inner / kept;
    const auto entry = static_cast<std::int64_t>(i / inner % kept) * slice.step + slice.start;
    return (outer * whole + static_cast<std::size_t>(entry)) * inner + i % inner;
  });
}

}  // namespace

Result<Constant> fold_constant(NodeImport& node) {
  COHORT_TRY(const Constant* const value, node.constant_attribute("value"));
  if (value != nullptr) return *value;
  for (const char* const name : {"sparse_value", "value_string", "value_strings"}) {
    if (node.has_attribute(name))
      return fail(ErrorCode::kInvalidInput, "attribute {} is not supported, only numbers are", name);
  }
  if (node.has_attribute("value_float")) {
    COHORT_TRY(const float number, node.number("value_float", 0));
    return make_constant({}, std::vector<float>{number});
  }
  if (node.has_attribute("value_int")) {
    COHORT_TRY(const std::int64_t number, node.integer("value_int", 0));
    return make_constant({}, std::vector<std::int64_t>{number});
  }
  if (node.has_attribute("value_ints")) {
    COHORT_TRY(std::vector<std::int64_t> numbers, node.integer_list("value_ints", {}));
    const auto size = static_cast<std::int64_t>(numbers.size());
    return make_constant({size}, std::move(numbers));
  }
  if (node.has_attribute("value_floats")) {
    COHORT_TRY(std::vector<float> numbers, node.number_list("value_floats"));
    const auto size = static_cast<std::int64_t>(numbers.size());
    return make_constant({size}, std::move(numbers));
  }
  return fail(ErrorCode::kInvalidInput, "attribute value is missing");
}

Result<Constant> fold_constant_of_shape(NodeImport& node) {
  COHORT_TRY(Shape shape, node.integers(0, "shape"));
  COHORT_TRY(const Constant* const value, node.constant_attribute("value"));
  for (const std::int64_t at : shape) {
    if (at < 0) return fail(ErrorCode::kInvalidInput, "shape {} is not valid", to_string(shape));
  }
  const Constant element = value != nullptr ? *value : make_constant({1}, std::vector<float>{0.0F});
  if (element_count(element.shape) != 1)
    return fail(ErrorCode::kInvalidInput, "attribute value must hold one element, not {}", to_string(element.shape));
  return gathered(node, element, std::move(shape), [](std::size_t) { return std::size_t{0}; });
}

Result<Constant> fold_gather(NodeImport& node) {
  COHORT_TRY(const Constant* const from, operand(node, 0));
  COHORT_TRY(std::vector<std::int64_t> indices, node.integers(1, "indices"));
  COHORT_TRY(const Shape index_shape, node.shape(1));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 0));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, from->shape.size()));
  const std::int64_t whole = from->shape[axis];
  for (std::int64_t& index : indices) {
    if (index < -whole || index >= whole)
      return fail(ErrorCode::kInvalidInput, "index {} is outside of {} entries", index, whole);
    if (index < 0) index += whole;
  }
  const auto at = from->shape.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape shape(from->shape.begin(), at);
  shape.insert(shape.end(), index_shape.begin(), index_shape.end());
  shape.insert(shape.end(), at + 1, from->shape.end());
  const std::size_t inner = product(from->shape, axis + 1, from->shape.size());
  const std::size_t picked = indices.size();
  return gathered(node, *from, std::move(shape), [&](std::size_t i) {
    const std::size_t outer = i / inner / picked;
    const auto index = static_cast<std::size_t>(indices[i / inner % picked]);
    return (outer * static_cast<std::size_t>(whole) + index) * inner + i % inner;
  });
}

Result<Constant> fold_slice(NodeImport& node) {
  COHORT_TRY(const Constant* const from, operand(node, 0));
  COHORT_TRY(const auto ranges, slice_ranges(node, from->shape));
  Constant result = *from;
  for (const AxisSlice& range : ranges) {
    COHORT_TRY(result, sliced(node, result, range));
  }
  return result;
}

Result<Constant> fold_range(NodeImport& node) {
  const Constant* limits[3] = {};
  constexpr std::string_view kNames[] = {"start", "limit", "delta"};
  for (std::size_t i = 0; i < 3; ++i) {
    limits[i] = node.needed_constant(i);
    if (limits[i] == nullptr) return node.not_constant(i, kNames[i]);
    if (element_count(limits[i]->shape) != 1) return fail(ErrorCode::kInvalidInput, "{} must be one number", kNames[i]);
    if ((limits[i]->integers() == nullptr) != (limits[0]->integers() == nullptr))
      return fail(ErrorCode::kInvalidInput, "mixes whole numbers and float32");
  }
  const bool is_whole = limits[0]->integers() != nullptr;
  const auto number = [&](std::size_t i) {
    return is_whole ? static_cast<double>(limits[i]->integers()->front())
                    : static_cast<double>(limits[i]->floats()->front());
  };
  // ONNX Runtime's difference is of the numbers' own type, and all else of float64.
  const bool is_float = !is_whole && limits[0]->type != Type::kDouble;
  const double difference = number(1) - number(0);
  const double rounded = is_float ? static_cast<double>(static_cast<float>(difference)) : difference;
  const double turns = number(2) == 0 ? -1 : rounded / number(2);
  const double count = std::ceil(turns);
  if (!(count < 0x1p40) || number(2) == 0) return fail(ErrorCode::kInvalidInput, "delta {} is not valid", number(2));
  // 0.1 has been rounded, 0.25 has not.
  const double shortest = number(2) * 0x1p10;
  const bool is_rounded = limits[2]->type == Type::kDouble && shortest != std::round(shortest);
  if (is_rounded && std::abs(turns - std::round(turns)) < 1e-5 * std::max(1.0, std::abs(turns)))
    return fail(ErrorCode::kInvalidInput, "the number of elements needs float64, which is read as float32");
  const auto size = static_cast<std::int64_t>(std::max(count, 0.0));
  COHORT_CHECK(node.claim(size));
  if (is_whole) {
    std::vector<std::int64_t> values;
    const auto start = static_cast<std::uint64_t>(limits[0]->integers()->front());
    const auto delta = static_cast<std::uint64_t>(limits[2]->integers()->front());
    // A number lies between start and limit, but its distance from the start can be twice what int64 holds.
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(size); ++i)
      values.push_back(static_cast<std::int64_t>(start + i * delta));
    return make_constant({size}, std::move(values));
  }
  std::vector<float> values;
  for (std::int64_t i = 0; i < size; ++i)
    values.push_back(static_cast<float>(number(0) + static_cast<double>(i) * number(2)));
  return make_constant({size}, std::move(values));
}

Result<Constant> fold_concat(NodeImport& node) {
  COHORT_TRY(const Constant* const first, operand(node, 0));
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 1));
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, first->shape.size()));
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    COHORT_TRY(const Constant* const part, operand(node, i));
    if ((part->integers() == nullptr) != (first->integers() == nullptr))
      return fail(ErrorCode::kInvalidInput, "mixes whole numbers and float32");
    shapes.push_back(part->shape);
  }
  COHORT_TRY(Shape shape, infer_shape_with_zeros(Concat{static_cast<std::int64_t>(axis)}, shapes));
  COHORT_CHECK(node.claim(element_count(shape)));
  std::vector<float> floats;
  std::vector<std::int64_t> integers;
  for (std::size_t outer = 0; outer < product(shape, 0, axis); ++outer) {
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Constant& part = *node.constant(i);
      const auto run = static_cast<std::ptrdiff_t>(product(part.shape, axis, shape.size()));
      const auto at = static_cast<std::ptrdiff_t>(outer) * run;
      if (const auto* values = part.integers()) {
        integers.insert(integers.end(), values->begin() + at, values->begin() + at + run);
      } else {
        floats.insert(floats.end(), part.floats()->begin() + at, part.floats()->begin() + at + run);
      }
    }
  }
  if (first->integers() != nullptr) return make_constant(std::move(shape), std::move(integers));
  return make_constant(std::move(shape), std::move(floats));
}

Result<Constant> fold_transpose(NodeImport& node) {
  COHORT_TRY(const Constant* const from, operand(node, 0));
  COHORT_TRY(const auto permutation, permutation_of(node, from->shape.size()));
  const auto steps = [&] {
    std::vector<std::size_t> all(from->shape.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = product(from->shape, i + 1, from->shape.size());
    return all;
  }();
  Shape shape;
  std::vector<std::size_t> strides;
  for (const std::size_t axis : permutation) {
    shape.push_back(from->shape[axis]);
    strides.push_back(steps[axis]);
  }
  const Shape target = shape;
  return gathered(node, *from, std::move(shape), [&](std::size_t i) { return position(i, target, strides); });
}

Result<Constant> fold_add(NodeImport& node) { return fold_binary(node, BinaryKind::kAdd); }
Result<Constant> fold_sub(NodeImport& node) { return fold_binary(node, BinaryKind::kSub); }
Result<Constant> fold_mul(NodeImport& node) { return fold_binary(node, BinaryKind::kMul); }
Result<Constant> fold_div(NodeImport& node) { return fold_binary(node, BinaryKind::kDiv); }

Result<Constant> fold_bitwise_and(NodeImport& node) { return fold_binary(node, BinaryKind::kBitwiseAnd); }
Result<Constant> fold_bitwise_or(NodeImport& node) { return fold_binary(node, BinaryKind::kBitwiseOr); }
Result<Constant> fold_bitwise_xor(NodeImport& node) { return fold_binary(node, BinaryKind::kBitwiseXor); }

}  // namespace cohort::onnx
