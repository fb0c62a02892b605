#include <gmock/gmock.h>

#include <cmath>

#include "call_runner.hpp"
#include "executor/reference/call.hpp"
#include "executor/reference/reference_kernels.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Values = std::vector<float>;

/// The output for the given operand values.
Values compute(OpCall call, const std::vector<Values>& operands) {
  CallRunner runner(std::move(call));
  for (std::size_t i = 0; i < operands.size(); ++i) runner.set_input(i, operands[i]);
  return runner.run(*make_reference_kernels());
}

Window window(Shape kernel, Shape stride, Shape pad_begin, Shape pad_end, Shape dilation = {1, 1}) {
  return {kernel, stride, pad_begin, pad_end, dilation};
}

TEST(ReferenceConvolution, SlidesTheKernelWithoutFlippingIt) {
  const OpCall call = make_call(Convolution{window({2, 2}, {1, 1}, {0, 0}, {0, 0}), 1},
                                {dense(0, {1, 1, 3, 3}), weight({1, 1, 2, 2}), weight({1})}, dense(1, {1, 1, 2, 2}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 0, -1}, {10}}),
              ElementsAre(10 + 1 + 4 - 5, 10 + 2 + 6 - 6, 10 + 4 + 10 - 8, 10 + 5 + 12 - 9));
}

TEST(ReferenceConvolution, PadsEachSideByItsOwnAmount) {
  // One row above and two columns to the right are zeros.
  const OpCall call = make_call(Convolution{window({2, 2}, {1, 2}, {1, 0}, {0, 2}), 1},
                                {dense(0, {1, 1, 2, 2}), weight({1, 1, 2, 2})}, dense(1, {1, 1, 2, 2}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4}, {1, 10, 100, 1000}}), ElementsAre(100 + 2000, 0, 1 + 20 + 300 + 4000, 0));
}

TEST(ReferenceConvolution, SpreadsTheKernelByDilation) {
  const OpCall call = make_call(Convolution{window({2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 2}), 1},
                                {dense(0, {1, 1, 3, 3}), weight({1, 1, 2, 2})}, dense(1, {1, 1, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 10, 100, 1000}}), ElementsAre(1 + 30 + 700 + 9000));
}

TEST(ReferenceConvolution, KeepsGroupsApart) {
  const OpCall call = make_call(Convolution{window({1, 1}, {1, 1}, {0, 0}, {0, 0}), 2},
                                {dense(0, {1, 4, 1, 1}), weight({2, 2, 1, 1})}, dense(1, {1, 2, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4}, {1, 10, 100, 1000}}), ElementsAre(1 + 20, 300 + 4000));
}

TEST(ReferenceConvolution, GivesTheSameOnAnyMemoryOrder) {
  const Convolution convolution{window({3, 3}, {1, 1}, {1, 1}, {1, 1}), 1};
  const Shape x = {2, 3, 4, 5}, y = {2, 4, 4, 5};
  const std::vector<Operand> weights = {weight({4, 3, 3, 3}), weight({4})};
  Values image(120);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 7);
  const auto on = [&](const View& from, const View& to) {
    CallRunner runner(make_call(convolution, {from, weights[0], weights[1]}, to));
    runner.set_input(0, image);
    return runner.run(*make_reference_kernels());
  };
  const Values nchw = on(dense(0, x, Layout::kNchw), dense(1, y, Layout::kNchw));
  EXPECT_EQ(on(dense(0, x), dense(1, y)), nchw);
  EXPECT_EQ(on(channel_slice(0, x, 7, 2), channel_slice(1, y, 9, 5)), nchw);
}

TEST(ReferencePool, MaximumIgnoresPadding) {
  const OpCall call = make_call(Pool{PoolKind::kMax, window({2, 2}, {1, 1}, {1, 1}, {0, 0}), false, false},
                                {dense(0, {1, 1, 2, 2})}, dense(1, {1, 1, 2, 2}));
  EXPECT_THAT(compute(call, {{-4, -3, -2, -1}}), ElementsAre(-4, -3, -2, -1));
}

TEST(ReferencePool, AverageCountsPaddingOnlyWhereAsked) {
  Pool pool{PoolKind::kAverage, window({2, 2}, {1, 1}, {1, 1}, {0, 0}), false, false};
  const auto on = [](const Pool& op) {
    return compute(make_call(op, {dense(0, {1, 1, 2, 2})}, dense(1, {1, 1, 2, 2})), {{4, 8, 12, 16}});
  };
  EXPECT_THAT(on(pool), ElementsAre(4, 6, 8, 10));
  pool.count_include_pad = true;
  EXPECT_THAT(on(pool), ElementsAre(1, 3, 4, 10));
}

TEST(ReferencePool, RoundsUpInCeilMode) {
  const OpCall call = make_call(Pool{PoolKind::kMax, window({1, 2}, {1, 2}, {0, 0}, {0, 0}), true, false},
                                {dense(0, {1, 1, 1, 3})}, dense(1, {1, 1, 1, 2}));
  EXPECT_THAT(compute(call, {{1, 2, 3}}), ElementsAre(2, 3));
  const OpCall wider_than_x = make_call(Pool{PoolKind::kAverage, window({1, 3}, {1, 2}, {0, 0}, {0, 0}), true, true},
                                        {dense(0, {1, 1, 1, 2})}, dense(1, {1, 1, 1, 1}));
  EXPECT_THAT(compute(wider_than_x, {{1, 2}}), ElementsAre(1.5));
}

TEST(ReferenceGemm, MultipliesByTheTransposedWeights) {
  const OpCall call = make_call(Gemm{}, {dense(0, {2, 2}), weight({3, 2}), weight({3})}, dense(1, {2, 3}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4}, {1, 0, 0, 1, 1, 1}, {10, 20, 30}}), ElementsAre(11, 22, 33, 13, 24, 37));
}

TEST(ReferenceGemm, FlattensSamplesInLogicalOrder) {
  const OpCall call = make_call(Gemm{}, {dense(0, {1, 2, 1, 2}), weight({1, 4})}, dense(1, {1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4}, {1, 10, 100, 1000}}), ElementsAre(4321));
}

TEST(ReferenceGemm, RunsEveryModelOfAStackOnItsOwnWeights) {
  const OpCall call =
      make_call(Gemm{true}, {dense(0, {2, 1, 2}), weight({2, 1, 2}), weight({2, 1})}, dense(1, {2, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 3, 4}, {1, 10, 100, 1000}, {0.5, 0.25}}), ElementsAre(21.5, 4300.25));
}

TEST(ReferenceGemm, SharesAnInputThatRepeatsOverModels) {
  View x = dense(0, {2, 1, 2});
  x.strides[0] = 0;
  const OpCall call = make_call(Gemm{true}, {x, weight({2, 1, 2})}, dense(1, {2, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 1, 2}, {1, 10, 100, 1000}}), ElementsAre(21, 2100));
}

TEST(ReferenceBatchNormalization, NormalisesEachChannel) {
  const OpCall call =
      make_call(BatchNormalization{1}, {dense(0, {1, 2, 1, 2}), weight({2}), weight({2}), weight({2}), weight({2})},
                dense(1, {1, 2, 1, 2}));
  EXPECT_THAT(compute(call, {{1, 3, 5, 7}, {2, 3}, {10, 20}, {1, 5}, {3, 8}}), ElementsAre(10, 12, 20, 22));
}

TEST(ReferenceLocalResponseNormalization, SumsSquaresAroundEachChannel) {
  const OpCall call =
      make_call(LocalResponseNormalization{3, 3, 1, 1}, {dense(0, {1, 3, 1, 1})}, dense(1, {1, 3, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2, 3}}), Pointwise(FloatNear(1e-6F), Values{1.0F / 6, 2.0F / 15, 3.0F / 14}));
}

TEST(ReferenceLocalResponseNormalization, ReachesFurtherForwardForEvenSizes) {
  const OpCall call =
      make_call(LocalResponseNormalization{2, 2, 1, 1}, {dense(0, {1, 2, 1, 1})}, dense(1, {1, 2, 1, 1}));
  EXPECT_THAT(compute(call, {{1, 2}}), Pointwise(FloatNear(1e-6F), Values{1.0F / 6, 2.0F / 5}));
}

TEST(ReferenceActivation, ComputesEveryKind) {
  const auto on = [](const Activation& activation) {
    return compute(make_call(activation, {dense(0, {3})}, dense(1, {3})), {{-2, 0, 2}});
  };
  EXPECT_THAT(on({ActivationKind::kRelu, 0, 0}), ElementsAre(0, 0, 2));
  EXPECT_THAT(on({ActivationKind::kLeakyRelu, 0.25, 0}), ElementsAre(-0.5, 0, 2));
  EXPECT_THAT(on({ActivationKind::kClip, -1, 0.5}), ElementsAre(-1, 0, 0.5));
  EXPECT_THAT(on({ActivationKind::kElu, 2, 0}), Pointwise(FloatNear(1e-6F), Values{2 * (std::exp(-2.0F) - 1), 0, 2}));
  EXPECT_THAT(on({ActivationKind::kSigmoid, 0, 0}),
              Pointwise(FloatNear(1e-6F), Values{1 / (1 + std::exp(2.0F)), 0.5, 1 / (1 + std::exp(-2.0F))}));
  EXPECT_THAT(on({ActivationKind::kTanh, 0, 0}),
              Pointwise(FloatNear(1e-6F), Values{std::tanh(-2.0F), 0, std::tanh(2.0F)}));
}

TEST(ReferenceBinary, RepeatsBothOperandsOverTheOutput) {
  const auto on = [](BinaryKind kind) {
    return compute(make_call(Binary{kind}, {dense(0, {2, 1}), weight({3})}, dense(1, {2, 3})), {{6, 12}, {1, 2, 3}});
  };
  EXPECT_THAT(on(BinaryKind::kAdd), ElementsAre(7, 8, 9, 13, 14, 15));
  EXPECT_THAT(on(BinaryKind::kSub), ElementsAre(5, 4, 3, 11, 10, 9));
  EXPECT_THAT(on(BinaryKind::kMul), ElementsAre(6, 12, 18, 12, 24, 36));
  EXPECT_THAT(on(BinaryKind::kDiv), ElementsAre(6, 3, 2, 12, 6, 4));
}

TEST(ReferenceConcat, JoinsAlongTheAxis) {
  const auto on = [](std::int64_t axis, const Shape& y) {
    return compute(make_call(Concat{axis}, {dense(0, {2, 2}), dense(1, {2, 2})}, dense(2, y)),
                   {{1, 2, 3, 4}, {5, 6, 7, 8}});
  };
  EXPECT_THAT(on(0, {4, 2}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(on(1, {2, 4}), ElementsAre(1, 2, 5, 6, 3, 4, 7, 8));
}

TEST(ReferenceSoftmax, NormalisesAlongTheAxisAndStandsLargeValues) {
  const auto on = [](std::int64_t axis) {
    return compute(make_call(Softmax{axis}, {dense(0, {2, 2})}, dense(1, {2, 2})), {{1000, 1000, 0, std::log(3.0F)}});
  };
  EXPECT_THAT(on(1), Pointwise(FloatNear(1e-6F), Values{0.5, 0.5, 0.25, 0.75}));
  EXPECT_THAT(on(0), Pointwise(FloatNear(1e-6F), Values{1, 1, 0, 0}));
}

TEST(ReferenceReshape, KeepsLogicalOrderAcrossShapesAndStrides) {
  const Values values = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(compute(make_call(Reshape{}, {dense(0, {1, 3, 2, 2})}, dense(1, {4, 3})), {values}), values);
  EXPECT_EQ(compute(make_call(Reshape{}, {channel_slice(0, {1, 3, 2, 2}, 5, 1)}, dense(1, {1, 3, 2, 2})), {values}),
            values);
}

TEST(ReferenceLstm, FollowsTheEquationsOfOneCell) {
  const OpCall call =
      make_call(Lstm{1}, {dense(0, {2, 1, 1}), weight({4, 1}), weight({4, 1}), weight({4})}, dense(1, {2, 1, 1}));
  const float w[] = {0.5, -0.25, 0.75, 1.5}, r[] = {0.125, 0.5, -0.5, 0.25}, b[] = {0.1F, 0.2F, 0.3F, -0.4F};
  const float x[] = {1, -2};
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  double h = 0, c = 0;
  Values expected;
  for (const float input : x) {
    const auto gate = [&](int k) { return static_cast<double>(w[k] * input + b[k]) + static_cast<double>(r[k]) * h; };
    const double in = sigmoid(gate(0)), out = sigmoid(gate(1)), forget = sigmoid(gate(2));
    c = forget * c + in * std::tanh(gate(3));
    h = out * std::tanh(c);
    expected.push_back(static_cast<float>(h));
  }
  EXPECT_THAT(compute(call, {{1, -2}, {w, w + 4}, {r, r + 4}, {b, b + 4}}), Pointwise(FloatNear(1e-6F), expected));
}

TEST(ReferencePostOps, ApplyInOrder) {
  const auto on = [](std::vector<PostOp> post_ops) {
    return compute(
        make_call(Gemm{}, {dense(0, {1, 1}), weight({2, 1}), dense(1, {1, 2})}, dense(2, {1, 2}), std::move(post_ops)),
        {{1}, {-3, 3}, {1, -5}});
  };
  EXPECT_THAT(on({AddOperand{2}, Activation{}}), ElementsAre(0, 0));
  EXPECT_THAT(on({Activation{}, AddOperand{2}}), ElementsAre(1, -2));
}

TEST(ReferencePostOps, AddAnOperandThatTheOutputOverwrites) {
  const View y = dense(1, {1, 2});
  EXPECT_THAT(
      compute(make_call(Gemm{}, {dense(0, {1, 1}), weight({2, 1}), y}, y, {AddOperand{2}}), {{1}, {-3, 3}, {10, 20}}),
      ElementsAre(7, 23));
}

TEST(ReferenceKernels, RefuseOperandsThatDoNotFit) {
  const auto kernels = make_reference_kernels(3);
  EXPECT_EQ(kernels->cores(), 3);
  const OpCall good = make_call(Gemm{}, {dense(0, {2, 2}), weight({3, 2})}, dense(1, {2, 3}));
  EXPECT_THAT(kernels->prepare(good, "fast", 1, std::vector<Values>{Values(6)}).error().message, HasSubstr("fast"));
  EXPECT_THAT(kernels->prepare(good, "reference", 1, std::vector<Values>{Values(5)}).error().message,
              HasSubstr("must have 6"));
  OpCall bad = good;
  bad.outputs[0] = dense(1, {2, 4});
  EXPECT_THAT(kernels->alternatives(bad, 1).error().message, HasSubstr("must be [2, 3]"));
  bad = good;
  bad.post_ops = {AddOperand{7}};
  EXPECT_THAT(kernels->alternatives(bad, 1).error().message, HasSubstr("[2, 3]"));
  bad = good;
  bad.inputs.pop_back();
  EXPECT_FALSE(kernels->alternatives(bad, 1).has_value());
}

TEST(ReferenceKernels, ListOneAlgorithmThatNeedsNoWorkspace) {
  const OpCall call = make_call(Gemm{}, {dense(0, {2, 2}), weight({3, 2}), weight({3})}, dense(1, {2, 3}));
  const auto list = make_reference_kernels()->alternatives(call, 2);
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().algorithm, "reference");
  EXPECT_EQ(list->front().threads, 2);
  EXPECT_EQ(list->front().workspace, Bytes{0});
  EXPECT_EQ(list->front().packed_weights, Bytes{9 * 4});
}

TEST(OwnInputCount, LeavesOutOperandsThatOnlyAPostOpReads) {
  const View y = dense(1, {2, 2});
  EXPECT_EQ(own_input_count(make_call(Gemm{}, {dense(0, {2, 2}), weight({2, 2}), weight({2})}, y)), 3U);
  EXPECT_EQ(
      own_input_count(make_call(Gemm{}, {dense(0, {2, 2}), weight({2, 2}), dense(2, {2, 2})}, y, {AddOperand{2}})), 2U);
  // An op may add one of its own inputs.
  EXPECT_EQ(own_input_count(make_call(Gemm{}, {dense(0, {2, 2}), weight({2, 2})}, y, {AddOperand{0}})), 2U);
}

}  // namespace
}  // namespace cohort::testing
