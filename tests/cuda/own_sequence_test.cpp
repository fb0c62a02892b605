// Own kernels of language models, and of ops that only move values: their bodies, run on the host, against the
// reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "executor/reference/reference_kernels.hpp"
#include "own_kernels.hpp"
#include "tests/kernels/call_runner.hpp"

namespace cohort::testing {
namespace {

TEST(OwnMatMul, EqualsTheReferenceTransposedBroadcastAndWithPostOps) {
  expect_equals_reference(call_of(MatMul{}, {dense(0, {5, 7}), dense(1, {7, 6})}));
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      const Shape a = transpose_a ? Shape{2, 3, 7, 5} : Shape{2, 3, 5, 7};
      const Shape b = transpose_b ? Shape{3, 6, 7} : Shape{3, 7, 6};
      expect_equals_reference(call_of(MatMul{transpose_a, transpose_b}, {dense(0, a, Layout::kNchw), dense(1, b)},
                                      {Activation{ActivationKind::kGelu, 0, 0}}, Layout::kNchw));
    }
  }
  expect_equals_reference(call_of(MatMul{}, {dense(0, {4, 1, 5, 7}), dense(1, {3, 7, 6})}));
}

TEST(OwnLayerNormalization, EqualsTheReferenceAlsoOverSeveralDimensions) {
  expect_equals_reference(call_of(LayerNormalization{1, 1e-5F}, {dense(0, {6, 40}), weight({40}), weight({40})}));
  expect_equals_reference(call_of(LayerNormalization{2, 1e-3F}, {dense(0, {2, 3, 4, 5}), weight({4, 5})}));
  expect_equals_reference(call_of(LayerNormalization{1, 1e-5F}, {dense(0, {6, 40}), weight({40}), weight({40})},
                                  {Activation{ActivationKind::kRelu, 0, 0}}));
}

TEST(OwnLayerNormalization, DividesByTheRootMeanSquareAlone) {
  const LayerNormalization op{1, 1e-5F, false};
  expect_equals_reference(call_of(op, {dense(0, {6, 40}), weight({40})}));
  expect_equals_reference(call_of(op, {dense(0, {6, 40}), weight({40}), weight({40})}));
}

TEST(OwnLayerNormalization, TakesAScaleThatDiffersFromRowToRow) {
  expect_equals_reference(call_of(LayerNormalization{1, 1e-5F}, {dense(0, {6, 40}), weight({6, 40}), weight({6, 1})}));
}

TEST(OwnGroupNormalization, EqualsTheReferenceInBothLayouts) {
  const std::vector<PostOp> post{Activation{ActivationKind::kRelu, 0, 0}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const std::int64_t groups : {1, 3, 6}) {
      for (const std::int64_t entries : {groups, std::int64_t{6}}) {
        const GroupNormalization op{groups, 1e-4F};
        const std::vector<Operand> inputs{dense(0, {2, 6, 5, 4}, layout), weight({entries}), weight({entries})};
        expect_equals_reference(call_of(op, inputs, {}, layout));
        expect_equals_reference(call_of(op, inputs, post, layout));
      }
    }
  }
  expect_equals_reference(call_of(GroupNormalization{2, 1e-4F}, {dense(0, {3, 8}), dense(1, {8}), dense(2, {8})}));
}

TEST(OwnGru, EqualsTheReference) {
  Recurrent op;
  op.cell = RecurrentCell::kGru;
  op.hidden = 7;
  op.linear_before_reset = true;
  expect_equals_reference(call_of(op, {dense(0, {5, 3, 6}), weight({1, 21, 6}), weight({1, 21, 7}), weight({1, 42})}));
  op.linear_before_reset = false;
  EXPECT_FALSE(make_own_kernels_on_host()->alternatives(
      call_of(op, {dense(0, {5, 3, 6}), weight({1, 21, 6}), weight({1, 21, 7}), weight({1, 42})}), 1));
}

Recurrent gru(std::int64_t hidden) {
  Recurrent op;
  op.cell = RecurrentCell::kGru;
  op.hidden = hidden;
  op.linear_before_reset = true;
  return op;
}

void expect_steps_equal_reference(const OpCall& call) {
  const auto kernels = make_own_kernels_on_host();
  const auto list = kernels->alternatives(call, 1);
  ASSERT_TRUE(list) << list.error().message;
  const auto steps = std::find_if(list->begin(), list->end(), [](const auto& a) { return a.algorithm == "own:steps"; });
  ASSERT_NE(steps, list->end());
  EXPECT_NE(steps, list->begin()) << "one launch is what comes first";
  const CallRunner runner(call, 1, -1, 1);
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  const std::vector<float> actual = runner.run(*kernels, *steps);
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 2e-5F) << "element " << i;
}

TEST(OwnSteps, OfLstmsAndGrusEqualTheReference) {
  const View x = dense(0, {5, 3, 6});
  const View alone = dense(0, {5, 1, 6});
  const View by_sample{BufferId{0}, 2, {5, 3, 6}, {6, 30, 1}, DataType::kFloat32};  // is stacked first
  for (const View& input : {x, alone, by_sample}) {
    expect_steps_equal_reference(call_of(Lstm{7}, {input, weight({28, 6}), weight({28, 7}), weight({28})}));
    expect_steps_equal_reference(
        call_of(Lstm{7}, {input, weight({28, 6}), weight({28, 7}), weight({28})}, {Activation{}}));
    expect_steps_equal_reference(
        call_of(gru(7), {input, weight({1, 21, 6}), weight({1, 21, 7}), weight({1, 42})}, {Activation{}}));
  }
}

TEST(OwnSteps, AreForFloat32AndSeveralSteps) {
  const auto call = [](std::int64_t steps) {
    return call_of(Lstm{7}, {dense(0, {steps, 3, 6}), weight({28, 6}), weight({28, 7}), weight({28})});
  };
  EXPECT_EQ(make_own_kernels_on_host()->alternatives(call(2), 1)->size(), 2U);
  EXPECT_EQ(make_own_kernels_on_host()->alternatives(call(1), 1)->size(), 1U);
  EXPECT_EQ(make_own_kernels_on_host(DataType::kBfloat16)->alternatives(call(2), 1)->size(), 1U);
  CallRunner runner(call(1));
  const auto refused = make_own_kernels_on_host()->prepare(call(1), "own:steps", 1, runner.weights());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("two steps or more"));
}

TEST(OwnMap, EqualsTheReferenceForFurtherActivations) {
  for (auto kind = static_cast<int>(ActivationKind::kSelu); kind <= static_cast<int>(ActivationKind::kFakeQuantize);
       ++kind) {
    const Activation op{static_cast<ActivationKind>(kind), 0.7F, 0.4F};
    const Range range = range_of(op.kind, {-3, 3});
    SCOPED_TRACE(op_type(op));
    expect_equals_reference(call_of(op, {dense(0, {2, 3, 4, 5})}), range.low, range.high);
  }
}

TEST(OwnMap, EqualsTheReferenceForFurtherBinaries) {
  for (const auto kind : {BinaryKind::kPow, BinaryKind::kMin, BinaryKind::kMax, BinaryKind::kPRelu, BinaryKind::kMod})
    expect_equals_reference(call_of(Binary{kind}, {dense(0, {2, 3, 4, 5}), dense(1, {3, 1, 5})}), 0.5F, 2);
}

TEST(OwnMoves, KeepEveryValueInItsPlace) {
  expect_equals_reference(call_of(Transpose{{0, 2, 1, 3}}, {dense(0, {2, 3, 4, 5})}));
  expect_equals_reference(call_of(Transpose{{2, 0, 1}}, {dense(0, {2, 3, 4})}, {Activation{}}));
  expect_equals_reference(call_of(TensorSlice{{1, 3, 0}, {1, -1, 2}, {1, 3, 2}}, {dense(0, {2, 4, 5})}));
  expect_equals_reference(call_of(Expand{{4, 3, 5}}, {dense(0, {3, 1})}));
}

}  // namespace
}  // namespace cohort::testing
