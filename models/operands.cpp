#include <limits>

#include "base/overloaded.hpp"
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
  Result<ElementType> operator()(const Pad& op) const {
    COHORT_CHECK(expect(types_, 0, op.element));
    return op.element;
  }
  Result<ElementType> operator()(const Concat& /*op*/) const {
    COHORT_CHECK(expect_all(types_, types_[0]));
    return types_[0];
  }
  Result<ElementType> operator()(const Recurrent& op) const {
    for (std::size_t i = 0; i < types_.size(); ++i)
      COHORT_CHECK(expect(types_, i, op.has_lengths && i == 4 ? kInt : kFloat));
    return kFloat;
  }
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

  std::span<const ElementType> types_;
};

}  // namespace

InputCounts input_counts(const OpAttributes& attributes) {
  return std::visit(Overloaded{
                        [](const Convolution&) {
                          return InputCounts{2, 3};
                        },
                        [](const ConvTranspose&) {
                          return InputCounts{2, 3};
                        },
                        [](const Gemm&) {
                          return InputCounts{2, 3};
                        },
                        [](const MatMul&) {
                          return InputCounts{2, 2};
                        },
                        [](const BatchNormalization&) {
                          return InputCounts{5, 5};
                        },
                        [](const GroupNormalization&) {
                          return InputCounts{3, 3};
                        },
                        [](const LayerNormalization&) {
                          return InputCounts{2, 3};
                        },
                        [](const Binary&) {
                          return InputCounts{2, 2};
                        },
                        [](const Select&) {
                          return InputCounts{3, 3};
                        },
                        [](const Gather&) {
                          return InputCounts{2, 2};
                        },
                        [](const Concat&) {
                          return InputCounts{1, std::numeric_limits<std::size_t>::max()};
                        },
                        [](const Lstm&) {
                          return InputCounts{4, 4};
                        },
                        [](const Recurrent& r) {
                          const std::size_t count = 4U + (r.has_lengths ? 1U : 0U) + (r.has_state ? 1U : 0U) +
                                                    (r.has_cell_state ? 1U : 0U) + (r.has_peepholes ? 1U : 0U);
                          return InputCounts{count, count};
                        },
                        [](const auto&) {
                          return InputCounts{1, 1};
                        },
                    },
                    attributes);
}

Result<ElementType> infer_element(const OpAttributes& attributes, std::span<const ElementType> types) {
  return std::visit(ElementRule(types), attributes);
}

}  // namespace cohort
