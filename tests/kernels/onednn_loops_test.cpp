#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "comparison.hpp"
#include "executor/device_error.hpp"
#include "executor/onednn/loops/vector.hpp"
#include "executor/reference/reference_kernels.hpp"

/// Ops that oneDNN lacks, in whole or in some forms: our own loops take them, and compute what the reference computes.
namespace cohort::testing {
namespace {

// They are always inlined, so that there is no address to pass on.
float vector_erf(float x) { return cohort::onednn::vector_erf(x); }
float vector_log(float x) { return cohort::onednn::vector_log(x); }
float vector_softplus(float x) { return cohort::onednn::vector_softplus(x); }

std::vector<std::int32_t> some_whole_numbers(std::size_t count, std::int32_t from) {
  std::vector<std::int32_t> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<std::int32_t>(i * 7 % 11) + from);
  return values;
}

constexpr BinaryKind kArithmetic[] = {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv,
                                      BinaryKind::kMin, BinaryKind::kMax, BinaryKind::kMod, BinaryKind::kPRelu};
constexpr BinaryKind kComparisons[] = {BinaryKind::kEqual, BinaryKind::kLess, BinaryKind::kLessOrEqual,
                                       BinaryKind::kGreater, BinaryKind::kGreaterOrEqual};

/// Both operands repeat, one does, none does; enough elements for two threads.
struct Pair {
  Shape a, b;
};
const Pair kPairs[] = {
    {{4, 1, 9}, {5, 1}}, {{20, 1000}, {1}}, {{1}, {20, 1000}}, {{3, 20, 4, 5}, {20, 1, 1}}, {{2, 3, 130}, {2, 3, 130}}};

TEST(OnednnLoops, CombineFloatsInEveryWay) {
  for (const Pair& pair : kPairs) {
    for (const auto& kinds : {std::vector<BinaryKind>(std::begin(kArithmetic), std::end(kArithmetic)),
                              std::vector<BinaryKind>(std::begin(kComparisons), std::end(kComparisons))}) {
      for (const BinaryKind kind : kinds)
        expect_loops_give_same_bits(
            CallRunner(with_output(Binary{kind}, {dense(0, pair.a), dense(1, pair.b)}, 2), 1, -1, 1));
    }
  }
  // Some equal elements.
  const View x = dense(0, {7, 9});
  for (const BinaryKind kind : kComparisons)
    expect_loops_give_same_bits(CallRunner(with_output(Binary{kind}, {x, x}, 1)));
}

/// Long enough for several chunks and two threads; some inputs lie otherwise than the result.
TEST(OnednnLoops, ComputeChainsOfFunctions) {
  const std::vector<PostOp> chain = {Activation{ActivationKind::kAbs},
                                     Activation{ActivationKind::kFakeQuantize, 0.02F, -3},
                                     Activation{ActivationKind::kClip, 0.1F, 1.5F}};
  const Shape shape = {2, 20, 30, 25};
  for (const View& other : {dense(1, shape), dense(1, {20, 1, 1}), dense(1, shape, Layout::kNchw)}) {
    for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kMul, BinaryKind::kMax}) {
      OpCall call = with_output(Binary{kind}, {dense(0, shape), other}, 2);
      call.post_ops = chain;
      expect_loops_give_same_bits(CallRunner(call, 1, -1, 1));
    }
  }
  for (const ActivationKind kind : {ActivationKind::kNeg, ActivationKind::kRound, ActivationKind::kRelu}) {
    for (const View& x : {dense(0, shape), dense(0, shape, Layout::kNchw)}) {
      OpCall call = with_output(Activation{kind}, {x}, 1);
      call.post_ops = chain;
      expect_loops_give_same_bits(CallRunner(call, 1, -1, 1));
    }
  }
}

TEST(OnednnLoops, ComputeChainsThatTheLibraryMixesUp) {
  using Kind = ActivationKind;
  const Shape shape = {3, 50};
  for (const auto& [first, second] : {std::pair(Activation{Kind::kElu, 1, 0}, Activation{Kind::kElu, 0.5F, 0}),
                                      std::pair(Activation{Kind::kLeakyRelu, 0.5F, 0}, Activation{Kind::kRelu})}) {
    OpCall call = with_output(Binary{BinaryKind::kMul}, {dense(0, shape), dense(1, shape)}, 2);
    call.post_ops = {first, second};
    expect_equals_reference(CallRunner(call, 1, -1, 1));
  }
}

TEST(OnednnLoops, RaiseToPowers) {
  for (const float exponent : {2.0F, 0.5F, -1.0F, 3.0F}) {
    CallRunner runner(with_output(Binary{BinaryKind::kPow}, {dense(0, {3, 50}), dense(1, {1})}, 2), 1, 0.1F, 2);
    runner.set_input(1, {exponent});
    expect_equals_reference(runner);
    EXPECT_NE(onednn().alternatives(runner.call(), 1)->front().algorithm, "reference");
  }
  CallRunner negative(with_output(Binary{BinaryKind::kPow}, {dense(0, {4}), dense(1, {1})}, 2));
  negative.set_input(0, {-3, -0.5F, 0, 4});
  negative.set_input(1, {2});
  EXPECT_EQ(negative.run(onednn()), (std::vector<float>{9, 0.25F, 0, 16}));
  expect_equals_reference(
      CallRunner(with_output(Binary{BinaryKind::kPow}, {dense(0, {3, 50}), dense(1, {50})}, 2), 1, 0.1F, 2));
}

TEST(OnednnLoops, CombineWholeNumbers) {
  std::vector<BinaryKind> kinds(std::begin(kArithmetic), std::end(kArithmetic));
  kinds.insert(kinds.end(), std::begin(kComparisons), std::end(kComparisons));
  kinds.insert(kinds.end(), {BinaryKind::kAnd, BinaryKind::kOr, BinaryKind::kXor, BinaryKind::kBitwiseAnd,
                             BinaryKind::kBitwiseOr, BinaryKind::kBitwiseXor});
  for (const Pair& pair : kPairs) {
    for (const BinaryKind kind : kinds) {
      CallRunner runner(with_output(Binary{kind, ElementType::kInt32}, {dense(0, pair.a), dense(1, pair.b)}, 2));
      const auto count = [](const Shape& shape) { return static_cast<std::size_t>(element_count(shape)); };
      runner.set_input(0, whole_numbers(some_whole_numbers(count(pair.a), -5)));
      runner.set_input(1, whole_numbers(some_whole_numbers(count(pair.b), -3)));
      expect_loops_give_same_bits(runner);
    }
  }
}

TEST(OnednnLoops, StopWhereAWholeNumberDoesNotFit) {
  CallRunner product(
      with_output(Binary{BinaryKind::kMul, ElementType::kInt32}, {dense(0, {2, 20000}), dense(1, {1})}, 2));
  std::vector<std::int32_t> factors(40000, 3);
  product.set_input(1, whole_numbers({1 << 30}));
  factors[39999] = 1;
  product.set_input(0, whole_numbers(factors));
  EXPECT_THROW((void)product.run(onednn(), 2), DeviceError);
  std::fill(factors.begin(), factors.end(), 1);
  product.set_input(0, whole_numbers(factors));
  EXPECT_EQ(bits_of(product.run(onednn(), 2)), std::vector<std::int32_t>(40000, 1 << 30));

  CallRunner cast(with_output(Cast{ElementType::kFloat32, ElementType::kInt32}, {dense(0, {3})}, 1));
  cast.set_input(0, {1, 3e9F, 2});
  EXPECT_THROW((void)cast.run(onednn(), 1), DeviceError);
}

TEST(OnednnLoops, ConvertInfinitiesToTheNearestAndNaNToTheLeast) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CallRunner cast(with_output(Cast{ElementType::kFloat32, ElementType::kInt32}, {dense(0, {5})}, 1));
  cast.set_input(0, {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN(), -2147483520.0F, -0.5F});
  const std::vector<std::int32_t> expected{INT32_MIN, INT32_MAX, INT32_MIN, -2147483520, 0};
  EXPECT_EQ(bits_of(cast.run(onednn(), 1)), expected);
  expect_loops_give_same_bits(cast);
}

TEST(OnednnLoops, ConvertAndSelect) {
  const ElementType types[] = {ElementType::kFloat32, ElementType::kInt32};
  for (const ElementType from : types) {
    for (const ElementType to : types) {
      for (const bool to_truth : {false, true}) {
        if (to_truth && to == ElementType::kFloat32) continue;
        CallRunner runner(with_output(Cast{from, to, to_truth}, {dense(0, {5, 4001})}, 1), 1, -5, 5);
        if (from == ElementType::kInt32) runner.set_input(0, whole_numbers(some_whole_numbers(20005, -4)));
        expect_loops_give_same_bits(runner);
      }
    }
  }
  CallRunner select(with_output(Select{}, {dense(0, {4, 1}), dense(1, {3, 1, 6}), dense(2, {6})}, 3));
  select.set_input(0, whole_numbers({1, 0, -1, 0}));
  expect_loops_give_same_bits(select);
}

TEST(OnednnLoops, ReduceToExtremes) {
  const std::vector<std::vector<std::int64_t>> all_axes = {{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1, 2}};
  for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin}) {
    for (const std::vector<std::int64_t>& axes : all_axes) {
      for (const Shape& shape : {Shape{5, 30, 70}, Shape{2, 3, 9}, Shape{1, 90, 333}})
        expect_loops_give_same_bits(CallRunner(with_output(Reduce{kind, axes, true}, {dense(0, shape)}, 1)));
    }
    expect_loops_give_same_bits(
        CallRunner(with_output(Reduce{kind, {2, 3}, false}, {dense(0, {2, 20, 15, 17}, Layout::kNhwc)}, 1)));
  }
}

TEST(OnednnLoops, ReduceToSumsOfMagnitudesAndTheirLogarithms) {
  for (const ReduceKind kind : {ReduceKind::kL1, ReduceKind::kLogSum, ReduceKind::kLogSumExp}) {
    for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0}, {2}, {0, 1, 2}}) {
      const CallRunner runner(with_output(Reduce{kind, axes, true}, {dense(0, {5, 30, 70})}, 1), 1, 0.5F, 1.5F);
      EXPECT_EQ(onednn().alternatives(runner.call(), 1)->front().algorithm, "loops");
      expect_equals_reference(runner);
    }
  }
}

TEST(OnednnLoops, LogarithmsOfSumsOfExponentialsDoNotOverflow) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0}, {2}, {0, 1, 2}}) {
    CallRunner runner(with_output(Reduce{ReduceKind::kLogSumExp, axes, false}, {dense(0, {5, 30, 70})}, 1), 2);
    std::vector<float> values(5 * 30 * 70);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 1009);
    runner.set_input(0, values);
    expect_equals_reference(runner);
  }
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {2, 3}, {0, 2}})
    expect_equals_reference(CallRunner(
        with_output(Reduce{ReduceKind::kLogSumExp, axes, true}, {dense(0, {2, 20, 15, 17}, Layout::kNhwc)}, 1), 2));
}

TEST(OnednnLoops, ReduceShortRowsSideBySide) {
  struct Case {
    View x;
    std::vector<std::int64_t> axes;
  };
  const Case cases[] = {{dense(0, {5, 300, 2}), {2}},
                        {dense(0, {3, 140, 8}), {2}},
                        {dense(0, {4, 70, 3}), {0, 2}},
                        {dense(0, {2, 3, 15, 17}, Layout::kNhwc), {1}},
                        {dense(0, {70, 5}), {1}}};
  for (const Case& each : cases) {
    for (const ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin})
      expect_loops_give_same_bits(CallRunner(with_output(Reduce{kind, each.axes, false}, {each.x}, 1)));
    for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kL1, ReduceKind::kL2,
                                  ReduceKind::kSumOfSquares, ReduceKind::kLogSum, ReduceKind::kLogSumExp})
      expect_equals_reference(CallRunner(with_output(Reduce{kind, each.axes, true}, {each.x}, 1), 1, 0.05F, 0.15F));
  }
}

TEST(OnednnLoops, PadTileAndResize) {
  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    const Pad pad{mode, {0, 1, 2, 3}, {1, 0, 0, 4}, 0.25F};
    expect_loops_give_same_bits(CallRunner(with_output(pad, {dense(0, {2, 20, 15, 17})}, 1)));
    const Pad cut{mode, {0, -1, 2}, {1, 0, -1}, 0.25F};
    expect_loops_give_same_bits(CallRunner(with_output(cut, {dense(0, {3, 4, 9})}, 1)));
    const Pad edge{mode, {64}, {64}};
    expect_loops_give_same_bits(CallRunner(with_output(edge, {dense(0, {512})}, 1)));
  }
  expect_loops_give_same_bits(CallRunner(with_output(Tile{{2, 1, 3, 2}}, {dense(0, {2, 8, 5, 9})}, 1)));
  expect_loops_give_same_bits(CallRunner(with_output(Tile{{3, 2}}, {dense(0, {40, 33})}, 1)));
  Resize nearest;
  nearest.positions = ResizePositions::kAlignCorners;
  nearest.shape = {2, 8, 11, 7};
  nearest.scale = {1, 1, 11.0 / 5, 7.0 / 9};
  expect_loops_give_same_bits(CallRunner(with_output(nearest, {dense(0, {2, 8, 5, 9})}, 1)));
}

TEST(OnednnLoops, InterpolateAlongEachAxis) {
  Resize op;
  const auto check = [&](const View& x, Shape shape, bool leads = false) {
    op.shape = std::move(shape);
    op.scale.clear();
    for (std::size_t d = 0; d < op.shape.size(); ++d)
      op.scale.push_back(static_cast<double>(op.shape[d]) / static_cast<double>(x.shape[d]));
    const OpCall call = with_output(op, {x}, 1);
    expect_equals_reference(CallRunner(call));
    const auto list = onednn().alternatives(call, 2);
    EXPECT_EQ(list->front().algorithm == "loops", leads) << call.outputs[0].shape.size();
    EXPECT_TRUE(std::any_of(list->begin(), list->end(), [](const auto& way) { return way.algorithm == "loops"; }));
  };
  for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (const ResizePositions positions : {ResizePositions::kAlignCorners, ResizePositions::kPytorchHalfPixel}) {
      op.mode = mode;
      op.positions = positions;
      check(dense(0, {2, 20, 5, 9}), {2, 20, 11, 7}, true);
      check(dense(0, {2, 3, 15, 17}, Layout::kNchw), {2, 3, 9, 40}, true);
      check(dense(0, {1, 2, 3, 4, 5}), {1, 2, 7, 3, 10}, true);  // three axes
      check(dense(0, {3, 9}), {3, 31}, true);
      check(dense(0, {4, 7, 3}), {4, 7, 3}, true);  // as it is
    }
  }
  op.positions = ResizePositions::kHalfPixelNearest;  // shifts axes of the same extent, too
  check(dense(0, {2, 3, 5, 4}), {2, 3, 8, 4}, true);
  op.mode = ResizeMode::kCubic;
  op.exclude_outside = true;
  op.positions = ResizePositions::kAsymmetric;
  check(dense(0, {1, 4, 5, 6}), {1, 4, 11, 6}, true);
  op.antialias = true;
  check(dense(0, {1, 8, 33, 20}), {1, 8, 10, 9}, true);
  op = {};
  op.mode = ResizeMode::kLinear;
  check(dense(0, {2, 3, 4, 5}), {2, 3, 8, 15});  // the library's way is ahead
}

TEST(OnednnLoops, MoveWhatTheLibraryOnlyHasInPlainLoops) {
  expect_loops_give_same_bits(CallRunner(with_output(TensorSlice{{4, 6}, {-1, -2}, {5, 3}}, {dense(0, {5, 7})}, 1)));
  expect_loops_give_same_bits(
      CallRunner(with_output(TensorSlice{{0, 5, 1}, {1, -1, 2}, {2, 4, 3}}, {dense(0, {2, 6, 7})}, 1)));
  expect_loops_give_same_bits(CallRunner(with_output(Transpose{{4, 1, 3, 0, 2}}, {dense(0, {2, 3, 4, 5, 6})}, 1)));
}

TEST(OnednnLoops, MoveShortRunsOfManyRows) {
  // Rows of 2 to 5 elements, in blocks that end within others, for both threads.
  expect_loops_give_same_bits(
      CallRunner(with_output(TensorSlice{{0, 0, 1}, {1, 1, 1}, {3, 2999, 2}}, {dense(0, {3, 3000, 4})}, 1)));
  expect_loops_give_same_bits(
      CallRunner(with_output(TensorSlice{{0, 1, 0}, {1, 3, 2}, {2, 900, 5}}, {dense(0, {2, 3000, 9})}, 1)));
  expect_loops_give_same_bits(
      CallRunner(with_output(Transpose{{2, 0, 3, 1}}, {dense(0, {70, 3, 90, 2}, Layout::kNchw)}, 1)));
  expect_loops_give_same_bits(CallRunner(with_output(Transpose{{1, 0, 2}}, {dense(0, {5, 700, 3})}, 1)));
}

/// Whether own loops are among the ways; every way gives what the reference gives.
bool has_loops(const OpCall& call) {
  expect_equals_reference(CallRunner(call));
  const auto list = onednn().alternatives(call, 2);
  return std::any_of(list->begin(), list->end(), [](const Alternative& way) { return way.algorithm == "loops"; });
}

Window line(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {{kernel}, {stride}, {pad}, {pad}, {dilation}};
}

TEST(OnednnLoops, ConvolveToFewPositions) {
  // A spectrogram, parts of signals, the end of a network, a sample at a time and several.
  EXPECT_TRUE(has_loops(with_output(Convolution{line(64, 32, 0)}, {dense(0, {1, 1, 160}), weight({66, 1, 64})}, 1)));
  EXPECT_TRUE(
      has_loops(with_output(Convolution{line(3, 2, 1)}, {dense(0, {1, 33, 8}), weight({20, 33, 3}), weight({20})}, 1)));
  EXPECT_TRUE(has_loops(
      with_output(Convolution{line(3, 1, 2, 2)}, {dense(0, {2, 20, 3}), weight({17, 20, 3}), weight({17})}, 1)));
  EXPECT_TRUE(has_loops(with_output(Convolution{square_window(1, 1, 0)},
                                    {dense(0, {3, 40, 1, 1}), weight({11, 40, 1, 1}), weight({11})}, 1)));
  EXPECT_TRUE(has_loops(with_output(Convolution{square_window(3, 1, 1)},
                                    {dense(0, {1, 24, 2, 3}, Layout::kNchw), weight({9, 24, 3, 3})}, 1)));
  EXPECT_TRUE(has_loops(with_output(Convolution{Window{{2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}}},
                                    {dense(0, {1, 8, 3, 2, 2}), weight({5, 8, 2, 2, 2})}, 1)));
  EXPECT_FALSE(
      has_loops(with_output(Convolution{line(3, 1, 1)}, {dense(0, {1, 33, 9}), weight({20, 33, 3}), weight({20})}, 1)));
  EXPECT_FALSE(has_loops(with_output(Convolution{line(3, 1, 1), 3}, {dense(0, {1, 33, 4}), weight({21, 11, 3})}, 1)));
}

TEST(OnednnLoops, ConvolveToFewPositionsWithPostOpsAndComputedWeights) {
  const View x = dense(0, {1, 33, 4}), added = dense(2, {1, 20, 4});
  for (const ActivationKind kind : {ActivationKind::kRelu, ActivationKind::kLeakyRelu, ActivationKind::kSigmoid,
                                    ActivationKind::kTanh, ActivationKind::kHardSwish, ActivationKind::kSwish}) {
    const Activation activation{kind, 0.25F, 0};
    const Convolution op{line(3, 1, 1)};
    EXPECT_TRUE(has_loops(with_output(op, {x, weight({20, 33, 3}), weight({20})}, 1, {activation})));
    EXPECT_TRUE(has_loops(with_output(op, {x, weight({20, 33, 3}), added}, 1, {AddOperand{2}, activation})));
    EXPECT_TRUE(
        has_loops(with_output(op, {x, weight({20, 33, 3}), weight({20}), added}, 1, {activation, AddOperand{3}})));
  }
  EXPECT_TRUE(
      has_loops(with_output(Convolution{line(3, 1, 1)}, {x, packed(3, 0, {20, 33, 3}), packed(4, 0, {20})}, 1)));
  OpCall in_place = with_output(Convolution{line(3, 1, 1)}, {x, weight({20, 33, 3}), added}, 2, {AddOperand{2}});
  EXPECT_TRUE(has_loops(in_place));
}

TEST(OnednnLoops, StandInForSoftmaxAlongShortAxesAndAcrossOthers) {
  View turned = dense(0, {3, 40, 5});
  turned.strides = {200, 1, 40};
  for (const bool logarithm : {false, true}) {
    EXPECT_TRUE(has_loops(with_output(Softmax{3, logarithm}, {dense(0, {2, 21, 3, 2})}, 1)));
    EXPECT_TRUE(has_loops(with_output(Softmax{1, logarithm}, {turned}, 1)));
    EXPECT_TRUE(has_loops(with_output(Softmax{2, logarithm}, {turned}, 1)));
    EXPECT_TRUE(has_loops(with_output(Softmax{1, logarithm}, {dense(0, {70, 1})}, 1)));
  }
}

/// Largest error in units of the last place of `exact`, which are never smaller than those of `least`.
template <class Function, class Exact>
double worst_error(const Function& function, const Exact& exact, double from, double to, double least) {
  constexpr int kSteps = 200000;
  double worst = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const auto x = static_cast<float>(from + (to - from) * i / kSteps);
    const double expected = exact(static_cast<double>(x));
    const auto size = static_cast<float>(std::max(std::abs(expected), least));
    const double unit = static_cast<double>(std::nextafter(size, INFINITY) - size);
    worst = std::max(worst, std::abs(static_cast<double>(function(x)) - expected) / unit);
  }
  return worst;
}

TEST(OnednnVectorFunctions, AreNearTheExactOnes) {
  const auto log = [](double x) { return std::log(x); };
  EXPECT_LT(worst_error(vector_log, log, 1e-4, 4, 0), 1);
  EXPECT_LT(worst_error(vector_log, log, 0.99, 1.01, 0), 1);
  EXPECT_LT(worst_error(vector_log, log, 1, 3e38, 0), 1);
  EXPECT_LT(worst_error(vector_log, log, 1e-42, 1e-37, 0), 1);
  EXPECT_LT(worst_error(
                vector_erf, [](double x) { return std::erf(x); }, -5, 5, 0),
            3);
  const auto softplus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); };
  EXPECT_LT(worst_error(vector_softplus, softplus, -20, 20, 0), 5);
  EXPECT_LT(worst_error(vector_softplus, softplus, -86, -20, 0), 5);
}

TEST(OnednnVectorFunctions, KnowTheEnds) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(vector_log(0), -INFINITY);
  EXPECT_EQ(vector_log(-0.0F), -INFINITY);
  EXPECT_EQ(vector_log(INFINITY), INFINITY);
  EXPECT_EQ(vector_log(1), 0);
  EXPECT_TRUE(std::isnan(vector_log(-1)));
  EXPECT_TRUE(std::isnan(vector_log(-INFINITY)));
  EXPECT_TRUE(std::isnan(vector_log(kNaN)));
  EXPECT_EQ(vector_erf(INFINITY), 1);
  EXPECT_EQ(vector_erf(-INFINITY), -1);
  EXPECT_TRUE(std::signbit(vector_erf(-0.0F)));
  EXPECT_TRUE(std::isnan(vector_erf(kNaN)));
  EXPECT_EQ(vector_softplus(INFINITY), INFINITY);
  EXPECT_EQ(vector_softplus(-INFINITY), 0);
  EXPECT_TRUE(std::isnan(vector_softplus(kNaN)));
}

constexpr ActivationKind kRareFunctions[] = {
    ActivationKind::kSoftplus, ActivationKind::kErf,          ActivationKind::kLog,  ActivationKind::kSin,
    ActivationKind::kCos,      ActivationKind::kFakeQuantize, ActivationKind::kGelu, ActivationKind::kMish,
    ActivationKind::kAtan,     ActivationKind::kSinh,         ActivationKind::kCosh, ActivationKind::kAsinh};

TEST(OnednnLoops, HaveEveryFunctionOfOneElement) {
  for (const ActivationKind kind : kRareFunctions) {
    const CallRunner runner(with_output(Activation{kind, 0.05F, -3}, {dense(0, {3, 2000})}, 1), 1, 0.1F, 3);
    EXPECT_NE(onednn().alternatives(runner.call(), 1)->front().algorithm, "reference");
    expect_equals_reference(runner);
  }
}

}  // namespace
}  // namespace cohort::testing
