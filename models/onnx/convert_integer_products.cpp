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

/// Zero points of weights, input `input`; 0 where they are left out, empty where they are not known.
std::vector<float> zero_points_of_weights(const NodeImport& node, std::size_t input) {
  if (!node.has_input(input)) return {0};
  const Constant* const zero_points = node.constant(input);
  return zero_points != nullptr && zero_points->shape.size() <= 1 ? floats_of(*zero_points) : std::vector<float>();
}

/// What the weights of a ConvInteger are multiplied as, where that may be 8-bit numbers: kernels that are constant, on
/// images or signals whose zero point is computed, where what it adds to the sums, one number for each output and
/// place, takes little memory. Else absent.
Result<std::optional<EightBitWeights>> eight_bit_kernels(NodeImport& node, const Convolution& convolution,
                                                         const Shape& x) {
  constexpr std::int64_t kMostSums = std::int64_t{1} << 20;
  const Constant* const w = node.constant(1);
  const bool has_zero_point = node.has_input(2) && node.constant(2) == nullptr && is_number(node, 2);
  const std::vector<float> zeros = zero_points_of_weights(node, 3);
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

/// The sums of distances from x's zero point times weights less what these lack, plus what that is: `met` are the sums
/// of the levels of x that an output meets, `count` are their numbers, and `zero` is the zero point, if there is one.
/// Distances are summed, not levels, so that the sums stay small and float32 holds them.
Result<TensorId> with_lack(NodeImport& node, TensorId product, TensorId met, TensorId count,
                           std::optional<TensorId> zero, const EightBitWeights& weights, const Shape& one_each) {
  if (zero) {
    COHORT_TRY(const TensorId zeros, binary(node, "zeros", BinaryKind::kMul, count, *zero));
    COHORT_TRY(met, binary(node, "distances", BinaryKind::kSub, met, zeros));
  }
  Shape shape = weights.lack.size() == 1 ? Shape{} : one_each;
  COHORT_TRY(const TensorId lack, node.made_weight("lack", std::move(shape), weights.lack));
  COHORT_TRY(const TensorId lacking, binary(node, "lacking", BinaryKind::kMul, met, lack));
  return binary(node, "", BinaryKind::kAdd, product, lacking);
}

/// What the zero point adds is taken off the sums, so that the convolution reads the levels as they are, numbers of 8
/// bits.
Result<TensorId> convolution_of_levels(NodeImport& node, const Convolution& convolution, const Shape& x,
                                       const EightBitWeights& weights) {
  const Shape& shape = node.constant(1)->shape;
  const bool lacks = !weights.lack.empty();
  COHORT_CHECK(node.claim(element_count(shape)));
  COHORT_TRY(const TensorId levels, as_float(node, 0));
  COHORT_TRY(const TensorId kernels, node.weight(1, shape, weights.values));
  COHORT_TRY(const TensorId product, node.emit("product", convolution, {levels, kernels}));
  const Shape y = node.shape_of(product);
  WindowSums sums = window_sums(weights.values, shape, convolution.window, x, y);
  for (float& sum : sums.values) sum = -sum;
  COHORT_TRY(const TensorId sum, node.made_weight("sums", std::move(sums.shape), std::move(sums.values)));
  COHORT_TRY(const TensorId zero, as_float(node, 2));
  COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, zero));
  COHORT_TRY(const TensorId part, binary(node, lacks ? "part" : "", BinaryKind::kAdd, product, added));
  if (!lacks) return part;
  Shape one = shape;
  one[0] = 1;
  const std::vector<float> ones(static_cast<std::size_t>(element_count(one)), 1);
  WindowSums counts = window_sums(ones, one, convolution.window, x, y);
  COHORT_TRY(const TensorId all, node.made_weight("all", std::move(one), ones));
  COHORT_TRY(const TensorId met, node.emit("met", convolution, {levels, all}));
  COHORT_TRY(const TensorId count, node.made_weight("counts", std::move(counts.shape), std::move(counts.values)));
  Shape each(y.size() - 1, 1);
  each[0] = y[1];
  return with_lack(node, part, met, count, zero, weights, each);
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

/// The sum of each column of a matrix that has `columns`.
std::vector<float> column_sums(const std::vector<float>& values, std::int64_t columns) {
  std::vector<float> sums(static_cast<std::size_t>(columns), 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
  return sums;
}

/// Input 0 times constant input 1, [I, O]. What the zero point of input 0 adds is taken off the sums, so that the
/// product reads the levels as they are, numbers of 8 bits.
Result<TensorId> product_of_levels(NodeImport& node) {
  const Constant& b = *node.constant(1);
  const std::vector<float> zeros = zero_points_of_weights(node, 3);
  COHORT_CHECK(node.claim(element_count(b.shape)));
  const EightBitWeights weights = eight_bit_weights(b, zeros, 1).value_or(EightBitWeights{distances(b, zeros, 1), {}});
  const std::string suffix = weights.lack.empty() ? "" : "part";
  COHORT_TRY(const TensorId x, as_float(node, 0));
  COHORT_TRY(const TensorId w, matrix_of_rows(node, 1, weights.values));
  std::vector<float> sums = column_sums(weights.values, b.shape[1]);
  const Constant* const known = node.constant(2);
  std::optional<TensorId> zero;
  if (node.has_input(2) && (known == nullptr || !is_zero(floats_of(*known)))) {
    COHORT_TRY(zero, as_float(node, 2));
  }
  TensorId y{};
  if (zero && known == nullptr) {
    COHORT_TRY(const TensorId sum, node.made_weight("sums", {b.shape[1]}, std::move(sums)));
    COHORT_TRY(const TensorId product, product_of_rows(node, "product", x, {w}));
    COHORT_TRY(const TensorId added, binary(node, "added", BinaryKind::kMul, sum, *zero));
    COHORT_TRY(y, binary(node, suffix, BinaryKind::kSub, product, added));
  } else {
    std::vector<TensorId> operands{w};
    if (zero) {
      for (float& sum : sums) sum *= -floats_of(*known).front();
      COHORT_TRY(const TensorId bias, node.weight(2, {b.shape[1]}, std::move(sums)));
      operands.push_back(bias);
    }
    COHORT_TRY(y, product_of_rows(node, suffix, x, operands));
  }
  if (weights.lack.empty()) return y;
  const auto last = std::ssize(node.shape_of(x)) - 1;
  COHORT_TRY(const TensorId met, node.emit("met", Reduce{ReduceKind::kSum, {last}, true}, {x}));
  const TensorId count = node.scalar("count", static_cast<float>(b.shape[0]));
  return with_lack(node, y, met, count, zero, weights, {b.shape[1]});
}

}  // namespace

Result<void> convert_conv_integer(NodeImport& node) {
  COHORT_TRY(const Shape x, node.shape(0));
  COHORT_TRY(const Convolution convolution, convolution_of(node, x));
  COHORT_TRY(const auto weights, eight_bit_kernels(node, convolution, x));
  if (weights) {
    COHORT_TRY(const TensorId y, convolution_of_levels(node, convolution, x, *weights));
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
