#include <algorithm>

#include "models/onnx/converters.hpp"

namespace cohort::onnx {

namespace {

Result<void> expect_matrix(const Shape& shape, std::string_view operand) {
  if (shape.size() == 2) return {};
  return fail(ErrorCode::kInvalidInput, "{} must be a matrix, not {}", operand, to_string(shape));
}

/// Input `i`, a constant matrix, as a weight [O, I] times `scale`.
Result<TensorId> matrix_weight(NodeImport& node, std::size_t i, bool is_transposed, float scale) {
  COHORT_TRY(const Constant* const matrix, node.floats(i, "B"));
  COHORT_CHECK(expect_matrix(matrix->shape, "B"));
  if (is_transposed && scale == 1) return node.tensor(i);
  const std::vector<float>& values = *matrix->floats();
  const auto rows = static_cast<std::size_t>(matrix->shape[0]);
  const auto columns = static_cast<std::size_t>(matrix->shape[1]);
  COHORT_CHECK(node.claim(element_count(matrix->shape)));
  std::vector<float> scaled = is_transposed ? values : transposed(values, rows, columns);
  for (float& value : scaled) value *= scale;
  const Shape shape = is_transposed ? matrix->shape : Shape{matrix->shape[1], matrix->shape[0]};
  return node.weight(i, shape, std::move(scaled));
}

/// Whether a constant of this shape adds the same [O] to every row of y [N, O].
bool is_row(const Shape& c, const Shape& y) {
  const std::int64_t count = element_count(c);
  if (c.size() > 2 || (c.size() == 2 && c[0] != 1)) return false;
  return count == 1 || (count == y[1] && c.back() == y[1]);
}

/// Input 2 of a Gemm as its bias [O].
Result<TensorId> row_bias(NodeImport& node, const Constant& c, std::int64_t outputs, float beta) {
  if (c.shape == Shape{outputs} && beta == 1) return node.tensor(2);
  COHORT_CHECK(node.claim(outputs));
  const std::vector<float>& values = *c.floats();
  std::vector<float> bias(static_cast<std::size_t>(outputs));
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = beta * (values.size() == 1 ? values[0] : values[i]);
  return node.weight(2, {outputs}, std::move(bias));
}

/// y + beta * C where C is no bias.
Result<TensorId> add_matrix(NodeImport& node, TensorId y, float beta) {
  COHORT_TRY(const Shape c, node.shape(2));
  COHORT_TRY(const Shape sum, infer_shape(Binary{}, {node.shape_of(y), c}));
  if (sum != node.shape_of(y))
    return fail(ErrorCode::kInvalidInput, "C {} does not broadcast to {}", to_string(c), to_string(node.shape_of(y)));
  const Constant* constant = node.constant(2);
  if (constant == nullptr || constant->floats() == nullptr || beta == 1) {
    if (beta != 1) return fail(ErrorCode::kInvalidInput, "beta other than 1 is supported with a constant C only");
    COHORT_TRY(const TensorId operand, node.tensor(2));
    return node.emit("add", Binary{BinaryKind::kAdd}, {y, operand});
  }
  COHORT_CHECK(node.claim(element_count(c)));
  std::vector<float> scaled = *constant->floats();
  for (float& value : scaled) value *= beta;
  COHORT_TRY(const TensorId operand, node.weight(2, c, std::move(scaled)));
  return node.emit("add", Binary{BinaryKind::kAdd}, {y, operand});
}

struct LstmShape {
  std::int64_t steps, samples, inputs, hidden;
};

Result<LstmShape> check_lstm(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Shape r, node.shape(2));
  if (x.size() != 3) return fail(ErrorCode::kInvalidInput, "x must be [T, N, I], not {}", to_string(x));
  if (r.size() != 3 || r[0] != 1)
    return fail(ErrorCode::kInvalidInput, "R must be [1, 4H, H] (one direction), not {}", to_string(r));
  COHORT_TRY(const std::int64_t hidden, node.integer("hidden_size", r[2]));
  COHORT_TRY(const std::string direction, node.text("direction", "forward"));
  if (direction != "forward")
    return fail(ErrorCode::kInvalidInput, "direction {} is not supported, only forward", direction);
  COHORT_TRY(const std::vector<std::string> activations, node.text_list("activations"));
  if (!activations.empty() && activations != std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"})
    return fail(ErrorCode::kInvalidInput, "activations other than Sigmoid, Tanh, Tanh are not supported");
  COHORT_TRY(const std::int64_t input_forget, node.integer("input_forget", 0));
  COHORT_TRY(const std::int64_t layout, node.integer("layout", 0));
  if (input_forget != 0) return fail(ErrorCode::kInvalidInput, "input_forget is not supported");
  if (layout != 0) return fail(ErrorCode::kInvalidInput, "layout 1 is not supported");
  node.ignore("output_sequence");
  return LstmShape{x[0], x[1], x[2], hidden};
}

/// Optional inputs that would change the result unless they say what holds anyway.
Result<void> check_lstm_state(NodeImport& node, const LstmShape& shape) {
  if (node.has_input(4)) {
    COHORT_TRY(const auto lengths, node.integers(4, "sequence_lens"));
    const bool all_full =
        std::all_of(lengths.begin(), lengths.end(), [&](auto length) { return length == shape.steps; });
    if (!all_full) return fail(ErrorCode::kInvalidInput, "sequences of different lengths are not supported");
  }
  constexpr std::string_view kNames[] = {"initial_h", "initial_c", "P"};
  for (std::size_t i = 5; i < 8; ++i) {
    if (!node.has_input(i)) continue;
    COHORT_TRY(const Constant* const state, node.floats(i, kNames[i - 5]));
    const std::vector<float>& values = *state->floats();
    if (!std::all_of(values.begin(), values.end(), [](float value) { return value == 0; }))
      return fail(ErrorCode::kInvalidInput, "{} other than zero is not supported", kNames[i - 5]);
  }
  return {};
}

/// Input `i` [1, rows, columns] as a weight [rows, columns].
Result<TensorId> lstm_weight(NodeImport& node, std::size_t i, const Shape& shape, std::string_view name) {
  COHORT_TRY(const Constant* const matrix, node.floats(i, name));
  const Shape expected{1, shape[0], shape[1]};
  if (matrix->shape != expected)
    return fail(ErrorCode::kInvalidInput, "{} must be {}, not {}", name, to_string(expected), to_string(matrix->shape));
  COHORT_CHECK(node.claim(element_count(shape)));
  return node.weight(i, shape, *matrix->floats());
}

/// Input and recurrent bias, [1, 8H], as their sum.
Result<TensorId> lstm_bias(NodeImport& node, std::int64_t hidden) {
  const auto rows = static_cast<std::size_t>(4 * hidden);
  std::vector<float> sum(rows, 0.0F);
  COHORT_CHECK(node.claim(4 * hidden));
  if (!node.has_input(3)) return node.weight(2, {4 * hidden}, std::move(sum));
  COHORT_TRY(const Constant* const bias, node.floats(3, "B"));
  const Shape expected{1, 8 * hidden};
  if (bias->shape != expected)
    return fail(ErrorCode::kInvalidInput, "B must be {}, not {}", to_string(expected), to_string(bias->shape));
  const std::vector<float>& values = *bias->floats();
  for (std::size_t i = 0; i < rows; ++i) sum[i] = values[i] + values[rows + i];
  return node.weight(3, {4 * hidden}, std::move(sum));
}

}  // namespace

std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  std::vector<float> result(values.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  }
  return result;
}

Result<void> convert_gemm(NodeImport& node) {
  COHORT_TRY(const float alpha, node.number("alpha", 1));
  COHORT_TRY(const float beta, node.number("beta", 1));
  COHORT_TRY(const std::int64_t trans_a, node.integer("transA", 0));
  COHORT_TRY(const std::int64_t trans_b, node.integer("transB", 0));
  node.ignore("broadcast");  // opset 6: says what the shapes show
  if (trans_a != 0) return fail(ErrorCode::kInvalidInput, "transA is not supported");
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_CHECK(expect_matrix(a, "A"));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId w, matrix_weight(node, 1, trans_b != 0, alpha));
  std::vector<TensorId> inputs{x, w};
  const Shape expected{a[0], node.shape_of(w)[0]};
  const Constant* c = node.constant(2);
  const bool has_bias = c != nullptr && c->floats() != nullptr && is_row(c->shape, expected);
  if (has_bias) {
    COHORT_TRY(const TensorId bias, row_bias(node, *c, expected[1], beta));
    inputs.push_back(bias);
  }
  COHORT_TRY(TensorId y, node.emit("", Gemm{}, std::move(inputs)));
  if (node.has_input(2) && !has_bias && beta != 0) {
    COHORT_TRY(y, add_matrix(node, y, beta));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_matmul(NodeImport& node) {
  COHORT_TRY(const Shape a, node.shape(0));
  if (a.size() < 2) return fail(ErrorCode::kInvalidInput, "A must have 2 or more dimensions, not {}", to_string(a));
  COHORT_TRY(TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId w, matrix_weight(node, 1, false, 1));
  if (a.back() != node.shape_of(w)[1])
    return fail(ErrorCode::kInvalidInput, "A {} does not fit B, which has {} rows", to_string(a), node.shape_of(w)[1]);
  if (a.size() > 2) {
    COHORT_TRY(x, node.emit_reshape("rows", x, {element_count(Shape(a.begin(), a.end() - 1)), a.back()}));
  }
  COHORT_TRY(TensorId y, node.emit("", Gemm{}, {x, w}));
  if (a.size() > 2) {
    Shape shape = a;
    shape.back() = node.shape_of(y)[1];
    COHORT_TRY(y, node.emit_reshape("shape", y, std::move(shape)));
  }
  node.set_result(y);
  return {};
}

Result<void> convert_lstm(NodeImport& node) {
  COHORT_TRY(const LstmShape shape, check_lstm(node));
  constexpr std::int64_t kMostHidden = std::int64_t{1} << 24;
  if (shape.hidden < 1 || shape.hidden > kMostHidden)
    return fail(ErrorCode::kInvalidInput, "hidden_size must be from 1 to {}, not {}", kMostHidden, shape.hidden);
  COHORT_CHECK(check_lstm_state(node, shape));
  const std::int64_t rows = 4 * shape.hidden;
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId w, lstm_weight(node, 1, {rows, shape.inputs}, "W"));
  COHORT_TRY(const TensorId r, lstm_weight(node, 2, {rows, shape.hidden}, "R"));
  COHORT_TRY(const TensorId b, lstm_bias(node, shape.hidden));
  COHORT_TRY(const TensorId y, node.emit("", Lstm{shape.hidden}, {x, w, r, b}));
  // ONNX's Y has an axis for directions. Most files squeeze it away at once.
  node.set_alias(TensorValue{y, Shape{shape.steps, 1, shape.samples, shape.hidden}});
  return {};
}

}  // namespace cohort::onnx
