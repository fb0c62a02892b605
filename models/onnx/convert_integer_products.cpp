// ConvInteger and MatMulInteger, on float32 tensors that hold the whole numbers: sums of products of 8-bit numbers are
// exact in it up to 2^24, and beyond that rounded as any float32 sum is.

#include <algorithm>
#include <optional>

#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/quantized_values.hpp"
#include "models/onnx/window_sums.hpp"

namespace cohort::onnx {

namespace {

/// Constant whole numbers less their zero points, as numbers that fit int8 and what all of an output lack to be that:
/// one number, or one for each output; empty where nothing is.
struct EightBitWeights {
  std::vector<float> values;
  std::vector<float> lack;
};

bool fit_eight_bits(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return value >= -128 && value <= 127; });
}

/// Absent where no such numbers are.
std::optional<EightBitWeights> eight_bit_weights(const Constant& levels, const std::vector<float>& zeros,
                                                 std::size_t axis) {
  EightBitWeights weights{distances(levels, zeros, axis), {}};
  if (fit_eight_bits(weights.values)) return weights;
  const float middle = levels.type == Type::kUint8 ? 128 : 0;
  weights.values = distances(levels, {middle}, axis);
  for (const float zero : zeros) weights.lack.push_back(middle - zero);
  return fit_eight_bits(weights.values) ? std::optional(std::move(weights)) : std::nullopt;
}

/// What the weights of a ConvInteger are multiplied as, where that may be 8-bit numbers: kernels that are constant, on
/// images or signals whose zero point is computed, where what it adds to the sums, one number for each output and
/// place, takes little memory. Else absent.
Result<std::optional<EightBitWeights>> eight_bit_kernels(NodeImport& node, const Convolution& convolution,
                                                         const Shape& x, const std::vector<float>& zeros) {
  constexpr std::int64_t kMostSums = std::int64_t{1} << 20;
  const Constant* const w = node.constant(1);
  const bool has_zero_point = node.has_input(2) && node.constant(2) == nullptr && is_number(node, 2);
  if (node.for_training() || w == nullptr || x.size() > 4 || !has_zero_point || zeros.empty()) return std::nullopt;
  const Window& window = convolution.window;
  Shape most{w->shape[0]};
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    most.push_back(x[i + 2] + window.pad_begin[i] + window.pad_end[i]);
  if (element_count(x) == 0 || element_count(w->shape) == 0 || element_count(most) > kMostSums) return std::nullopt;
  COHORT_CHECK(along_axis({std::ssize(zeros)}, "zero_point1", w->shape, 0));
  std::optional<EightBitWeights> weights = eight_bit_weights(*w, zeros, 0);
  // Of several groups each would need a sum of its own.
  if (weights && !weights->lack.empty() && convolution.groups != 1) return std::nullopt;
  return weights;
}

/// Zero points of weights, input `input`; 0 where they are left out, empty where they are not known.
std::vector<float> zero_points_of_weights(const NodeImport& node, std::size_t input) {
  if (!node.has_input(input)) return {0};
  const Constant* const zero_points = node.constant(input);
  return zero_points != nullptr && zero_points->shape.size() <= 1 ? floats_of(*zero_points) : std::vector<float>();
}

/// `product` of x and weights, plus what all weights of an output lack times the sum of the x that they meet.
Result<TensorId> with_lack(NodeImport& node, std::string_view suffix, TensorId product, TensorId sums_of_x,
                           const EightBitWeights& weights, const Shape& one_each) {
  Shape shape = weights.lack.size() == 1 ? Shape{} : one_each;
  COHORT_TRY(const TensorId lack, node.made_weight("lack", std::move(shape), weights.lack));
  COHORT_TRY(const TensorId lacking, binary(node, "lacking", BinaryKind::kMul, sums_of_x, lack));
  return binary(node, suffix, BinaryKind::kAdd, product, lacking);
}

/// What the zero point adds is taken off the sums, so that the convolution reads the levels as they are, numbers of 8
/// bits.
Result<TensorId> convolution_of_levels(NodeImport& node, const Convolution& convolution, const Shape& x,
                                       const std::vector<float>& zeros, const EightBitWeights& weights) {
  const Constant& w = *node.constant(1);
  COHORT_CHECK(node.claim(element_count(w.shape)));
  COHORT_TRY(const TensorId levels, as_float(node, 0));
  COHORT_TRY(const TensorId kernels, node.weight(1, w.shape, weights.values));
  COHORT_TRY(TensorId product, node.emit("product", convolution, {levels, kernels}));
  const Shape y = node.shape_of(product);
  if (!weights.lack.empty()) {
    Shape one = w.shape;
    one[0] = 1;
    std::vector<float> ones(static_cast<std::size_t>(element_count(one)), 1);
    COHORT_TRY(const TensorId all, node.made_weight("all", std::move(one), std::move(ones)));
    COHORT_TRY(const TensorId met, node.emit("met", convolution, {levels, all}));
    Shape each(y.size() - 1, 1);
    each[0] = y[1];
    COHORT_TRY(product, with_lack(node, "whole", product, met, weights, each));
  }
  WindowSums sums = window_sums(distances(w, zeros, 0), w.shape, convolution.window, x, y);
  for (float& sum : sums.values) sum = -sum;
  COHORT_TRY(const TensorId sum, node.made_weight("sums", std::move(sums.shape), std::move(sums.values)));
  COHORT_TRY(const TensorId zero, as_float(node, 2));
  COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, zero));
  return binary(node, "", BinaryKind::kAdd, product, added);
}

/// Whether a MatMulInteger multiplies one constant matrix, by levels that have one zero point at most. In training the
/// matrix changes, and what is taken off its sums would have to.
bool has_constant_matrix(const NodeImport& node) {
  if (node.for_training()) return false;
  const Constant* const b = node.constant(1);
  if (b == nullptr || b->shape.size() != 2 || !is_number(node, 2)) return false;
  const Constant* const zero_points = node.constant(3);
  return !node.has_input(3) ||
         (zero_points != nullptr && (is_number(node, 3) || zero_points->shape == Shape{b->shape[1]}));
}

/// x times constant input 1, [I, O], less its zero points, plus `bias`, if there is one: as numbers of 8 bits, if such
/// numbers give it.
Result<TensorId> product_with_matrix(NodeImport& node, const std::string& suffix, TensorId x,
                                     const std::vector<float>& zeros, const std::vector<TensorId>& bias) {
  const Constant& b = *node.constant(1);
  const std::optional<EightBitWeights> fitting = eight_bit_weights(b, zeros, 1);
  const EightBitWeights weights = fitting.value_or(EightBitWeights{distances(b, zeros, 1), {}});
  COHORT_TRY(const TensorId w, matrix_of_rows(node, 1, weights.values));
  std::vector<TensorId> operands{w};
  operands.insert(operands.end(), bias.begin(), bias.end());
  if (weights.lack.empty()) return product_of_rows(node, suffix, x, operands);
  COHORT_TRY(const TensorId product, product_of_rows(node, "part", x, operands));
  const auto last = std::ssize(node.shape_of(x)) - 1;
  COHORT_TRY(const TensorId met, node.emit("met", Reduce{ReduceKind::kSum, {last}, true}, {x}));
  return with_lack(node, suffix, product, met, weights, {b.shape[1]});
}

/// Input 0 times constant input 1, [I, O]. What the zero point of input 0 adds is taken off the sums, so that the
/// product reads the levels as they are, numbers of 8 bits.
Result<TensorId> product_of_levels(NodeImport& node) {
  const Constant& b = *node.constant(1);
  const std::vector<float> zeros = zero_points_of_weights(node, 3);
  COHORT_CHECK(node.claim(element_count(b.shape)));
  const auto columns = static_cast<std::size_t>(b.shape[1]);
  std::vector<float> sums(columns, 0);
  const std::vector<float> values = distances(b, zeros, 1);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % columns] += values[i];
  COHORT_TRY(const TensorId x, as_float(node, 0));
  const Constant* const zero_point = node.constant(2);
  if (!node.has_input(2) || (zero_point != nullptr && is_zero(floats_of(*zero_point))))
    return product_with_matrix(node, "", x, zeros, {});
  if (zero_point != nullptr) {
    const float zero = floats_of(*zero_point).front();
    for (float& sum : sums) sum *= -zero;
    COHORT_TRY(const TensorId bias, node.weight(2, {b.shape[1]}, std::move(sums)));
    return product_with_matrix(node, "", x, zeros, {bias});
  }
  COHORT_TRY(const TensorId zero, as_float(node, 2));
  COHORT_TRY(const TensorId sum, node.made_weight("sums", {b.shape[1]}, std::move(sums)));
  COHORT_TRY(const TensorId y, product_with_matrix(node, "product", x, zeros, {}));
  COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, zero));
  return binary(node, "", BinaryKind::kSub, y, added);
}

}  // namespace

Result<void> convert_conv_integer(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Convolution convolution, convolution_of(node, x));
  const std::vector<float> zeros = zero_points_of_weights(node, 3);
  COHORT_TRY(const auto weights, eight_bit_kernels(node, convolution, x, zeros));
  if (weights) {
    COHORT_TRY(const TensorId y, convolution_of_levels(node, convolution, x, zeros, *weights));
    node.set_result(y);
    return {};
  }
  COHORT_TRY(const TensorId image, centred(node, 0, 2, 0));
  COHORT_TRY(const TensorId kernels, centred(node, 1, 3, 0));
  COHORT_TRY(const TensorId y, node.emit("", convolution, {image, kernels}));
  node.set_result(y);
  return {};
}

Result<void> convert_matmul_integer(NodeImport& node) {
  COHORT_TRY(const Shape a, node.shape(0));
  COHORT_TRY(const Shape b, node.shape(1));
  COHORT_CHECK(expect_matrices(a, b));
  if (has_constant_matrix(node)) {
    COHORT_TRY(const TensorId y, product_of_levels(node));
    node.set_result(y);
    return {};
  }
  COHORT_TRY(const TensorId left, centred(node, 0, 2, a.size() - 2));
  COHORT_TRY(const TensorId right, centred(node, 1, 3, b.size() - 1));
  COHORT_TRY(const TensorId y, node.emit("", MatMul{}, {left, right}));
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
