#include <limits>

#include "models/op.hpp"

namespace cohort {

namespace {

Result<void> expect(std::span<const ElementType> types, std::size_t input, ElementType expected) {
  if (input >= types.size() || types[input] == expected) return {};
  return fail(ErrorCode::kInvalidInput, "input {} must be {}, not {}", input, to_string(expected),
              to_string(types[input]));
}

Result<void> expect_all(std::span<const ElementType> types, ElementType expected) {
  for (std::size_t i = 0; i < types.size(); ++i) COHORT_CHECK(expect(types, i, expected));
  return {};
}

constexpr auto kFloat = ElementType::kFloat32;
constexpr auto kInt = ElementType::kInt32;

/// Type of an op's output, or the input that is wrong.
class ElementRule {
 public:
  explicit ElementRule(std::span<const ElementType> types) : types_(types) {}

  Result<ElementType> operator()(const Binary& op) const {
    const bool logic = op.kind >= BinaryKind::kAnd;
    if (logic && op.element == kFloat) return fail(ErrorCode::kInvalidInput, "takes truth values only");
    if (is_bitwise(op.kind) && op.element == kFloat) return fail(ErrorCode::kInvalidInput, "takes whole numbers only");
    COHORT_CHECK(expect_all(types_, op.element));
    return is_predicate(op.kind) ? kInt : op.element;
  }
  Result<ElementType> operator()(const Select& op) const {
    COHORT_CHECK(expect(types_, 0, kInt));
    COHORT_CHECK(expect(types_, 1, op.element));
    COHORT_CHECK(expect(types_, 2, op.element));
    return op.element;
  }
  Result<ElementType> operator()(const Cast& op) const {
    COHORT_CHECK(expect(types_, 0, op.from));
    return op.to_truth ? kInt : op.to;
  }
  Result<ElementType> operator()(const Gather& /*op*/) const {
    COHORT_CHECK(expect(types_, 1, kInt));
    return types_[0];
  }
  Result<ElementType> operator()(const Scatter& op) const {
    COHORT_CHECK(expect(types_, 0, op.element));
    COHORT_CHECK(expect(types_, 1, kInt));
    COHORT_CHECK(expect(types_, 2, op.element));
    return op.element;
  }
  Result<ElementType> operator()(const Pad& op) const {
    COHORT_CHECK(expect(types_, 0, op.element));
    return op.element;
  }
  Result<ElementType> operator()(const Concat& /*op*/) const {
    COHORT_CHECK(expect_all(types_, types_[0]));
    return types_[0];
  }
  Result<ElementType> operator()(const Recurrent& op) const {
    return op.has_lengths ? from_floats_but(4) : from_floats(kFloat);
  }
  Result<ElementType> operator()(const SoftmaxCrossEntropy& /*op*/) const { return from_floats_but(1); }
  Result<ElementType> operator()(const SoftmaxCrossEntropyGradient& /*op*/) const { return from_floats_but(1); }
  Result<ElementType> operator()(const GatherGradient& /*op*/) const { return from_floats_but(0); }
  Result<ElementType> operator()(const Dropout& /*op*/) const { return from_floats_but(2); }
  Result<ElementType> operator()(const RecurrentGradient& op) const { return (*this)(op.layer); }
  // These only move elements.
  Result<ElementType> operator()(const Reshape& /*op*/) const { return types_[0]; }
  Result<ElementType> operator()(const Transpose& /*op*/) const { return types_[0]; }
  Result<ElementType> operator()(const TensorSlice& /*op*/) const { return types_[0]; }
  Result<ElementType> operator()(const Expand& /*op*/) const { return types_[0]; }
  Result<ElementType> operator()(const Tile& /*op*/) const { return types_[0]; }
  Result<ElementType> operator()(const ArgMax& /*op*/) const { return from_floats(kInt); }
  Result<ElementType> operator()(const MaxPoolIndices& /*op*/) const { return from_floats(kInt); }
  template <class Op>
  Result<ElementType> operator()(const Op& /*op*/) const {
    return from_floats(kFloat);
  }

 private:
  [[nodiscard]] Result<ElementType> from_floats(ElementType result) const {
    COHORT_CHECK(expect_all(types_, kFloat));
    return result;
  }

  [[nodiscard]] Result<ElementType> from_floats_but(std::size_t whole_input) const {
    for (std::size_t i = 0; i < types_.size(); ++i) COHORT_CHECK(expect(types_, i, i == whole_input ? kInt : kFloat));
    return kFloat;
  }

  std::span<const ElementType> types_;
};

InputCounts exactly(std::size_t count) { return {count, count}; }

/// Ops without an own rule take one input.
struct CountRule {
  InputCounts operator()(const Convolution& /*op*/) const { return {2, 3}; }
  InputCounts operator()(const ConvTranspose& /*op*/) const { return {2, 3}; }
  InputCounts operator()(const Gemm& /*op*/) const { return {2, 3}; }
  InputCounts operator()(const MatMul& /*op*/) const { return exactly(2); }
  InputCounts operator()(const BatchNormalization& /*op*/) const { return exactly(5); }
  InputCounts operator()(const GroupNormalization& /*op*/) const { return exactly(3); }
  InputCounts operator()(const LayerNormalization& /*op*/) const { return {2, 3}; }
  InputCounts operator()(const Binary& /*op*/) const { return exactly(2); }
  InputCounts operator()(const Select& /*op*/) const { return exactly(3); }
  InputCounts operator()(const Gather& /*op*/) const { return exactly(2); }
  InputCounts operator()(const Scatter& /*op*/) const { return exactly(3); }
  InputCounts operator()(const Concat& /*op*/) const { return {1, std::numeric_limits<std::size_t>::max()}; }
  InputCounts operator()(const Lstm& /*op*/) const { return exactly(4); }
  InputCounts operator()(const Recurrent& r) const {
    return exactly(4U + (r.has_lengths ? 1U : 0U) + (r.has_state ? 1U : 0U) + (r.has_cell_state ? 1U : 0U) +
                   (r.has_peepholes ? 1U : 0U));
  }
  InputCounts operator()(const Pack& /*op*/) const { return {1, std::numeric_limits<std::size_t>::max()}; }
  InputCounts operator()(const ConvolutionWeightGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const GemmWeightGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const PoolGradient& op) const { return exactly(op.pool.kind == PoolKind::kMax ? 2 : 1); }
  InputCounts operator()(const ActivationGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const SoftmaxGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const SoftmaxCrossEntropy& /*op*/) const { return exactly(2); }
  InputCounts operator()(const SoftmaxCrossEntropyGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const NormalizeByStatistics& /*op*/) const { return exactly(4); }
  InputCounts operator()(const BatchNormalizationWeightGradient& /*op*/) const { return exactly(3); }
  InputCounts operator()(const BatchNormalizationGradient& /*op*/) const { return exactly(5); }
  InputCounts operator()(const LayerNormalizationGradient& /*op*/) const { return exactly(3); }
  InputCounts operator()(const LayerNormalizationWeightGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const GroupNormalizationGradient& /*op*/) const { return exactly(3); }
  InputCounts operator()(const GroupNormalizationWeightGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const LocalResponseNormalizationGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const LstmGradient& /*op*/) const { return exactly(6); }
  InputCounts operator()(const RecurrentGradient& op) const { return exactly((*this)(op.layer).least + 2); }
  InputCounts operator()(const GatherGradient& /*op*/) const { return exactly(2); }
  InputCounts operator()(const Dropout& /*op*/) const { return exactly(3); }
  InputCounts operator()(const Update& op) const { return exactly(op.clip ? 4 : 3); }
  InputCounts operator()(const RunningAverage& /*op*/) const { return exactly(2); }
  template <class Op>
  InputCounts operator()(const Op& /*op*/) const {
    return exactly(1);
  }
};

}  // namespace

InputCounts input_counts(const OpAttributes& attributes) { return std::visit(CountRule{}, attributes); }

Result<ElementType> infer_element(const OpAttributes& attributes, std::span<const ElementType> types) {
  return std::visit(ElementRule(types), attributes);
}

}  // namespace cohort
