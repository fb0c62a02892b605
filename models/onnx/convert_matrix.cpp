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
  COHORT_CHECK(node.claim(element_count(matrix->shape)));
  std::vector<float> scaled = *matrix->floats();
  for (float& value : scaled) value *= scale;
  return is_transposed ? node.weight(i, matrix->shape, std::move(scaled)) : matrix_of_rows(node, i, scaled);
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

/// The tensor times a number.
Result<TensorId> scaled(NodeImport& node, std::string_view suffix, TensorId x, float factor) {
  if (factor == 1) return x;
  const TensorId number = node.scalar(fmt::format("{}_factor", suffix), factor);
  return node.emit(suffix, Binary{BinaryKind::kMul}, {x, number});
}

/// y + beta * C where C is no bias.
Result<TensorId> add_matrix(NodeImport& node, TensorId y, float beta) {
  COHORT_TRY(const Shape c, node.shape(2));
  COHORT_TRY(const Shape sum, infer_shape(Binary{}, {node.shape_of(y), c}));
  if (sum != node.shape_of(y))
    return fail(ErrorCode::kInvalidInput, "C {} does not broadcast to {}", to_string(c), to_string(node.shape_of(y)));
  const Constant* const constant = node.constant(2);
  if (beta != 1 && constant != nullptr && constant->floats() != nullptr && !node.is_trained(2)) {
    COHORT_CHECK(node.claim(element_count(c)));
    std::vector<float> factors = *constant->floats();
    for (float& value : factors) value *= beta;
    COHORT_TRY(const TensorId operand, node.weight(2, c, std::move(factors)));
    return node.emit("add", Binary{BinaryKind::kAdd}, {y, operand});
  }
  COHORT_TRY(TensorId operand, node.tensor(2));
  COHORT_TRY(operand, scaled(node, "beta", operand, beta));
  return node.emit("add", Binary{BinaryKind::kAdd}, {y, operand});
}

/// A product of two matrices of which B is constant: what networks have.
Result<TensorId> linear(NodeImport& node, bool trans_b, float alpha, float beta, bool& has_bias) {
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId w, matrix_weight(node, 1, trans_b, alpha));
  std::vector<TensorId> inputs{x, w};
  const Shape expected{a[0], node.shape_of(w)[0]};
  const Constant* c = node.constant(2);
  const bool changes_bias = beta != 1 || (c != nullptr && element_count(c->shape) != expected[1]);
  has_bias =
      c != nullptr && c->floats() != nullptr && is_row(c->shape, expected) && !(changes_bias && node.is_trained(2));
  if (has_bias) {
    COHORT_TRY(const TensorId bias, row_bias(node, *c, expected[1], beta));
    inputs.push_back(bias);
  }
  return node.emit("", Gemm{}, std::move(inputs));
}

/// Of a matrix product with a vector, the vector as a matrix of one row or column.
Result<TensorId> as_matrix(NodeImport& node, std::size_t input, bool is_row_vector) {
  COHORT_TRY(const Shape shape, node.shape(input));
  COHORT_TRY(const TensorId x, node.tensor(input));
  if (shape.size() != 1) return x;
  return node.emit_reshape(fmt::format("matrix{}", input), x, is_row_vector ? Shape{1, shape[0]} : Shape{shape[0], 1});
}

bool is_float_constant(const NodeImport& node, std::size_t input) {
  const Constant* constant = node.constant(input);
  return constant != nullptr && constant->floats() != nullptr;
}

}  // namespace

std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  std::vector<float> result(values.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) result[c * rows + r] = values[r * columns + c];
  }
  return result;
}

Result<TensorId> matrix_of_rows(NodeImport& node, std::size_t input, const std::vector<float>& values) {
  const Shape& shape = node.constant(input)->shape;
  return node.weight(input, {shape[1], shape[0]},
                     transposed(values, static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])));
}

Result<TensorId> product_of_rows(NodeImport& node, const std::string& suffix, TensorId x,
                                 std::vector<TensorId> weights) {
  const Shape a = node.shape_of(x);
  const Shape w = node.shape_of(weights[0]);
  if (a.back() != w[1])
    return fail(ErrorCode::kInvalidInput, "A {} does not fit B, which has {} rows", to_string(a), w[1]);
  const auto named = [&](const std::string& what) { return suffix.empty() ? what : suffix + "_" + what; };
  weights.insert(weights.begin(), x);
  if (a.size() == 2) return node.emit(suffix, Gemm{}, std::move(weights));
  COHORT_TRY(weights[0], node.emit_reshape(named("rows"), x, {element_count(Shape(a.begin(), a.end() - 1)), a.back()}));
  COHORT_TRY(const TensorId y, node.emit(suffix, Gemm{}, std::move(weights)));
  Shape shape = a;
  shape.back() = w[0];
  return node.emit_reshape(named("shape"), y, std::move(shape));
}

Result<void> convert_gemm(NodeImport& node) {
  COHORT_TRY(const float alpha, node.number("alpha", 1));
  COHORT_TRY(const float beta, node.number("beta", 1));
  COHORT_TRY(const std::int64_t trans_a, node.integer("transA", 0));
  COHORT_TRY(const std::int64_t trans_b, node.integer("transB", 0));
  node.ignore("broadcast");  // opset 6: says what the shapes show
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(1));
  COHORT_CHECK(expect_matrix(a, "A"));
  COHORT_CHECK(expect_matrix(b, "B"));
  bool has_bias = false;
  TensorId y{};
  if (trans_a == 0 && is_float_constant(node, 1) && (alpha == 1 || !node.is_trained(1))) {
    COHORT_TRY(y, linear(node, trans_b != 0, alpha, beta, has_bias));
  } else {
    COHORT_TRY(const TensorId left, node.tensor(0));
    COHORT_TRY(const TensorId right, node.tensor(1));
    COHORT_TRY(y, node.emit("", MatMul{trans_a != 0, trans_b != 0}, {left, right}));
    COHORT_TRY(y, scaled(node, "alpha", y, alpha));
  }
  if (node.has_input(2) && !has_bias && beta != 0) {
    COHORT_TRY(y, add_matrix(node, y, beta));
  }
  node.set_result(y);
  return {};
}

namespace {

/// A stack of matrices times one constant matrix: all rows at once.
Result<void> matmul_constant(NodeImport& node) {
  COHORT_TRY(const TensorId x, node.tensor(0));
  COHORT_TRY(const TensorId w, matrix_weight(node, 1, false, 1));
  COHORT_TRY(const TensorId y, product_of_rows(node, "", x, {w}));
  node.set_result(y);
  return {};
}

}  // namespace

Result<void> convert_matmul(NodeImport& node) {
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(1));
  if (a.empty() || b.empty()) return fail(ErrorCode::kInvalidInput, "takes no scalars");
  if (a.size() > 1 && b.size() == 2 && is_float_constant(node, 1)) return matmul_constant(node);
  COHORT_TRY(const TensorId left, as_matrix(node, 0, true));
  COHORT_TRY(const TensorId right, as_matrix(node, 1, false));
  COHORT_TRY(TensorId y, node.emit("", MatMul{}, {left, right}));
  if (a.size() == 1 || b.size() == 1) {
    Shape shape = node.shape_of(y);
    if (b.size() == 1) shape.pop_back();
    if (a.size() == 1) shape.erase(shape.end() - (b.size() == 1 ? 1 : 2));
    COHORT_TRY(y, node.emit_reshape("shape", y, std::move(shape)));
  }
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
