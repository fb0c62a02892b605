#include <algorithm>
#include <cmath>

#include "base/float16.hpp"
#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

std::vector<float> to_floats(const Constant& from, std::int64_t to) {
  std::vector<float> values = floats_of(from);
  for (float& value : values) {
    if (to == Type::kFloat16) value = rounded_to_float16(value);
    if (to == Type::kBfloat16) value = rounded_to_bfloat16(value);
  }
  return values;
}

std::vector<std::int64_t> to_truth(const Constant& from) {
  std::vector<std::int64_t> values;
  if (const auto* integers = from.integers()) {
    for (const std::int64_t value : *integers) values.push_back(value != 0 ? 1 : 0);
  } else {
    for (const float value : *from.floats()) values.push_back(value != 0 ? 1 : 0);
  }
  return values;
}

Result<std::vector<std::int64_t>> to_integers(const Constant& from, const Range& range) {
  std::vector<std::int64_t> values;
  if (const auto* integers = from.integers()) {
    for (const std::int64_t value : *integers) values.push_back(wrapped(value, range));
    return values;
  }
  for (const float value : *from.floats()) {
    if (std::isnan(value) || std::isinf(value)) {  // as models/compute has it
      values.push_back(wrapped(value > 0 ? INT32_MAX : INT32_MIN, range));
      continue;
    }
    // What does not fit is not defined; int64 ends here where the model's own whole numbers do.
    if (!(std::abs(value) < 0x1p31F) && !(range.bits == 32 && !range.is_signed && value >= 0 && value < 0x1p32F))
      return fail(ErrorCode::kInvalidInput, "{} is no whole number of {} bits", value, std::min(range.bits, 32));
    values.push_back(wrapped(static_cast<std::int64_t>(value), range));
  }
  return values;
}

/// Which element of scale and zero point belongs to each of the quantised tensor.
struct Blocks {
  std::size_t inner = 1;   ///< elements after the axis
  std::size_t extent = 1;  ///< of the axis
  std::size_t size = 1;    ///< entries of the axis that share a scale
  std::size_t count = 1;   ///< scales along the axis
  bool per_tensor = false;
  bool shared = false;  ///< one list of scales for all rows (per axis)

  [[nodiscard]] std::size_t operator()(std::size_t i) const {
    if (per_tensor) return 0;
    const std::size_t block = i / inner % extent / size;
    if (shared) return block;
    return (i / inner / extent * count + block) * inner + i % inner;
  }
};

Result<Blocks> blocks_of(NodeImport& node, const Shape& x, const Shape& scale) {
  COHORT_TRY(const std::int64_t axis_attribute, node.integer("axis", 1));
  COHORT_TRY(const std::int64_t block_size, node.integer("block_size", 0));
  if (block_size < 0) return fail(ErrorCode::kInvalidInput, "block_size must not be {}", block_size);
  Blocks blocks;
  blocks.per_tensor = scale.empty() || (scale.size() == 1 && scale[0] == 1 && block_size == 0);
  if (blocks.per_tensor) return blocks;
  COHORT_TRY(const std::size_t axis, normalize_axis(axis_attribute, x.size()));
  for (std::size_t i = axis + 1; i < x.size(); ++i) blocks.inner *= static_cast<std::size_t>(x[i]);
  blocks.extent = static_cast<std::size_t>(x[axis]);
  Shape needed{x[axis]};
  if (block_size > 0) {
    needed = x;
    needed[axis] = x[axis] / block_size + (x[axis] % block_size != 0 ? 1 : 0);
    blocks.size = static_cast<std::size_t>(block_size);
    blocks.count = static_cast<std::size_t>(needed[axis]);
  }
  blocks.shared = block_size == 0;
  if (scale != needed)
    return fail(ErrorCode::kInvalidInput, "input 1 (scale) has shape {} where axis {} of {} needs {}", to_string(scale),
                axis, to_string(x), to_string(needed));
  return blocks;
}

}  // namespace

Result<Constant> fold_cast(NodeImport& node) {
  const Constant* const from = node.constant(0);
  if (from == nullptr) return fail(ErrorCode::kInvalidInput, "input 0 is missing");
  COHORT_TRY(const std::int64_t to, node.integer("to", 0));
  node.ignore("saturate");    // of 8-bit floating point
  node.ignore("round_mode");  // likewise
  const bool is_same = from->floats() != nullptr ? to == Type::kFloat || to == Type::kDouble : to == Type::kInt64;
  if (is_same) return Constant{from->shape, from->values, static_cast<std::int32_t>(to)};
  COHORT_CHECK(node.claim(element_count(from->shape)));
  if (is_floating(to)) return make_constant(from->shape, to_floats(*from, to), to);
  if (to == Type::kBool) return make_constant(from->shape, to_truth(*from), to);
  const auto range = range_of(to);
  if (!range) return fail(ErrorCode::kInvalidInput, "to {} is not supported", type_name(to));
  COHORT_TRY(std::vector<std::int64_t> values, to_integers(*from, *range));
  return make_constant(from->shape, std::move(values), to);
}

Result<Constant> fold_dequantize(NodeImport& node) {
  COHORT_TRY(const std::vector<std::int64_t> quantized, node.integers(0, "x"));
  COHORT_TRY(const Constant* const scale, node.floats(1, "x_scale"));
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Blocks blocks, blocks_of(node, x, scale->shape));
  node.ignore("output_dtype");
  std::vector<std::int64_t> zero_points;
  if (node.has_input(2)) {
    COHORT_TRY(zero_points, node.integers(2, "x_zero_point"));
    if (zero_points.size() != scale->floats()->size())
      return fail(ErrorCode::kInvalidInput, "input 2 (x_zero_point) has {} elements where input 1 (scale) has {}",
                  zero_points.size(), scale->floats()->size());
  }
  COHORT_CHECK(node.claim(element_count(x)));
  std::vector<float> values(quantized.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = blocks(i);
    const std::int64_t zero_point = zero_points.empty() ? 0 : zero_points[at];
    // Of 64 bits, which no file should hold, the distance may not fit.
    const std::uint64_t distance = static_cast<std::uint64_t>(quantized[i]) - static_cast<std::uint64_t>(zero_point);
    values[i] = static_cast<float>(static_cast<std::int64_t>(distance)) * (*scale->floats())[at];
  }
  return make_constant(x, std::move(values));
}

}  // namespace cohort::onnx
