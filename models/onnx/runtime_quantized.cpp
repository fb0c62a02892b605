#include "models/onnx/number_types.hpp"
#include "models/onnx/own_ops.hpp"

// Ops on levels that ONNX has not: the levels' numbers go through the op, and become levels again.

namespace cohort::onnx {

namespace {

/// The numbers that input `x` stands for, whose scale and zero point are the next two inputs.
std::string numbers(OwnOps& ops, std::size_t x, std::int64_t axis = 1) {
  return ops.add("DequantizeLinear", {ops.input(x), ops.input(x + 1), ops.input(x + 2)}, {{"axis", axis}});
}

/// The node's output is the levels of `y`, whose scale and zero point are inputs `scale` and the next one. Without a
/// zero point they are of the type of input `like`.
Result<void> give_levels(OwnOps& ops, const std::string& y, std::size_t scale, std::size_t like = 0) {
  NodeImport& import = ops.import();
  OwnOps::Attributes attributes;
  if (!import.has_input(scale + 1)) {
    const std::int64_t type = import.whole_type(like) != 0 ? import.whole_type(like) : import.declared_type(like);
    if (type == 0)
      return fail(ErrorCode::kInvalidInput, "input {} (zero point) says the type, and is left out", scale + 1);
    attributes["output_dtype"] = type;
  }
  ops.give(ops.add("QuantizeLinear", {y, ops.input(scale), ops.input(scale + 1)}, std::move(attributes)));
  return {};
}

Result<void> refuse_channels_last(OwnOps& ops) {
  COHORT_TRY(const std::int64_t last, ops.import().integer("channels_last", 0));
  if (last == 0) return {};
  return fail(ErrorCode::kInvalidInput, "attribute channels_last is supported only as 0");
}

/// Weights of an LSTM, [directions, I, 4H], whose scale and zero point are inputs `scale` and the next one: one for
/// each direction, or for each of its gates' rows, too. [directions, 4H, I], as ONNX has them.
Result<std::string> weights_of_gates(OwnOps& ops, std::size_t levels, std::size_t scale) {
  COHORT_TRY(const Shape shape, ops.import().shape(levels));
  COHORT_TRY(const Shape scales, ops.import().shape(scale));
  const bool is_matrix = shape.size() == 3;
  const bool is_one = is_matrix && scales.size() <= 1 && element_count(scales) == shape[0];
  const bool is_one_a_row = is_matrix && scales == Shape{shape[0], shape[2]};
  if (!is_one && !is_one_a_row)
    return fail(ErrorCode::kInvalidInput, "input {} (scale) {} does not fit weights {}", scale, to_string(scales),
                to_string(shape));
  const std::string aligned = ops.integers({shape[0], 1, is_one ? 1 : shape[2]});
  const auto as_float = [&](std::size_t input) {
    return ops.add("Cast", {ops.input(input)}, {{"to", std::int64_t{Type::kFloat}}});
  };
  std::string w = as_float(levels);
  if (!ops.input(scale + 1).empty()) w = ops.add("Sub", {w, ops.add("Reshape", {as_float(scale + 1), aligned})});
  w = ops.add("Mul", {w, ops.add("Reshape", {ops.input(scale), aligned})});
  return ops.add("Transpose", {w}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
}

}  // namespace

std::string scaled_product(OwnOps& ops, const std::vector<std::string>& a_b_zero_points, const std::string& scale) {
  const std::string product = ops.add("MatMulInteger", a_b_zero_points);
  return ops.add("Mul", {ops.add("Cast", {product}, {{"to", std::int64_t{Type::kFloat}}}), scale});
}

/// Inputs: A, B, scale of B, its zero point, bias.
Result<void> make_dynamic_matmul(OwnOps& ops) {
  const std::vector<std::string> a = ops.add_several("DynamicQuantizeLinear", 3, {ops.input(0)});
  const std::string scale = ops.add("Mul", {a[1], ops.input(2)});
  ops.give(ops.plus(scaled_product(ops, {a[0], ops.input(1), a[2], ops.input(3)}, scale), ops.input(4)));
  return {};
}

/// Inputs: A, B, their scales, their zero points, bias.
Result<void> make_integer_matmul(OwnOps& ops) {
  const std::string scale = ops.add("Mul", {ops.input(2), ops.input(3)});
  const std::string product = scaled_product(ops, {ops.input(0), ops.input(1), ops.input(4), ops.input(5)}, scale);
  ops.give(ops.plus(product, ops.input(6)));
  return {};
}

/// Weights are levels. ONNX Runtime quantises x and the state at each step, too, for its speed; here they stay as they
/// are. Inputs: those of an LSTM, then scale and zero point of W, and of R.
Result<void> make_dynamic_lstm(OwnOps& ops) {
  constexpr std::size_t kScaleOfW = 8, kScaleOfR = 10;
  COHORT_TRY(const std::string w, weights_of_gates(ops, 1, kScaleOfW));
  COHORT_TRY(const std::string r, weights_of_gates(ops, 2, kScaleOfR));
  std::vector<std::string> inputs = {ops.input(0), w, r};
  for (std::size_t i = inputs.size(); i < kScaleOfW; ++i) inputs.push_back(ops.input(i));
  for (const auto& [name, value] : ops.attributes()) ops.import().ignore(name);
  const std::vector<std::string> y = ops.add_several("LSTM", 3, std::move(inputs), ops.attributes());
  for (std::size_t i = 0; i < y.size(); ++i) ops.give(y[i], i);
  return {};
}

Result<void> make_quantized_binary(OwnOps& ops) {
  const std::string a = numbers(ops, 0), b = numbers(ops, 3);
  return give_levels(ops, ops.add(ops.import().op_type() == "QLinearAdd" ? "Add" : "Mul", {a, b}), 6);
}

Result<void> make_quantized_unary(OwnOps& ops) {
  NodeImport& import = ops.import();
  const std::string type = import.op_type().substr(std::string_view("QLinear").size());
  COHORT_CHECK(refuse_channels_last(ops));
  OwnOps::Attributes attributes = ops.attributes();
  for (const auto& [name, value] : ops.attributes()) import.ignore(name);
  attributes.erase("channels_last");
  std::int64_t opset = OwnOps::kOpset;
  if (type == "Softmax") {
    COHORT_TRY(opset, import.integer("opset", opset));
    attributes.erase("opset");
  }
  return give_levels(ops, ops.add(type, {numbers(ops, 0)}, std::move(attributes), opset), 3);
}

/// Inputs: the condition, both operands, each with its scale and zero point, then scale and zero point of the result.
Result<void> make_quantized_where(OwnOps& ops) {
  const std::string if_true = numbers(ops, 1), if_false = numbers(ops, 4);
  return give_levels(ops, ops.add("Where", {ops.input(0), if_true, if_false}), 7, 1);
}

/// Inputs: scale and zero point of the result, then of each part itself and the same.
Result<void> make_quantized_concat(OwnOps& ops) {
  COHORT_TRY(const std::int64_t axis, ops.import().integer("axis", 0));
  const std::size_t count = ops.inputs().size();
  if (count < 5 || (count - 2) % 3 != 0)
    return fail(ErrorCode::kInvalidInput, "has {} inputs; two are of the result, and three of each part", count);
  std::vector<std::string> parts;
  for (std::size_t i = 2; i < count; i += 3) parts.push_back(numbers(ops, i));
  return give_levels(ops, ops.add("Concat", std::move(parts), {{"axis", axis}}), 0, 2);
}

/// alpha * (A B + C), where C is in units of the product of A's and B's levels.
Result<void> make_quantized_gemm(OwnOps& ops) {
  constexpr std::size_t kBias = 6, kScale = 7;
  NodeImport& import = ops.import();
  COHORT_TRY(const float alpha, import.number("alpha", 1));
  COHORT_TRY(const std::int64_t transposed_a, import.integer("transA", 0));
  COHORT_TRY(const std::int64_t transposed_b, import.integer("transB", 0));
  const std::string a = numbers(ops, 0), b = numbers(ops, 3, transposed_b != 0 ? 0 : 1);
  std::string y = ops.add("Gemm", {a, b}, {{"transA", transposed_a}, {"transB", transposed_b}});
  if (import.has_input(kBias)) {
    const std::string scale = ops.add("Mul", {ops.input(1), ops.input(4)});
    const std::string bias = ops.add("Cast", {ops.input(kBias)}, {{"to", std::int64_t{Type::kFloat}}});
    y = ops.add("Add", {y, ops.add("Mul", {bias, scale})});
  }
  if (alpha != 1) y = ops.add("Mul", {y, ops.number(alpha)});
  if (import.has_input(kScale)) return give_levels(ops, y, kScale);
  ops.give(y);
  return {};
}

}  // namespace cohort::onnx
