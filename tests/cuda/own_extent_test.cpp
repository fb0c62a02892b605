// Own kernels whose result has other extents than what they read: their bodies, run on the host, against the reference.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "executor/reference/reference_kernels.hpp"
#include "own_kernels.hpp"

namespace cohort::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(OwnReduce, EqualsTheReferenceForEveryKindAndChoiceOfAxes) {
  const std::vector<std::vector<std::int64_t>> choices{{2, 3}, {1}, {0, 2}, {3}, {0, 1, 2, 3}, {}};
  for (int kind = 0; kind <= static_cast<int>(ReduceKind::kLogSumExp); ++kind) {
    const auto of = static_cast<ReduceKind>(kind);
    const float low = of == ReduceKind::kLogSum || of == ReduceKind::kProduct ? 0.75F : -1;
    for (const std::vector<std::int64_t>& axes : choices) {
      for (const bool keep : {false, true}) {
        for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
          SCOPED_TRACE(canonical(Reduce{of, axes, keep}, {}));
          expect_equals_reference(call_of(Reduce{of, axes, keep}, {dense(0, {2, 5, 3, 4}, layout)}, {}, layout), low,
                                  1.25F);
        }
      }
    }
  }
}

TEST(OwnReduce, SharesLongLanesAndGivesShortOnesToAThread) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    expect_equals_reference(call_of(Reduce{ReduceKind::kMean, {2, 3}, true}, {dense(0, {2, 40, 9, 7}, layout)}));
    expect_equals_reference(call_of(Reduce{ReduceKind::kLogSumExp, {2, 3}, true}, {dense(0, {1, 40, 20, 21}, layout)}),
                            -5, 5);
    expect_equals_reference(call_of(Reduce{ReduceKind::kL2, {1}, false}, {dense(0, {3, 300, 2, 2}, layout)}));
  }
}

TEST(OwnReduce, DoesItsPostOpsByTheIndexOfTheResult) {
  const std::vector<PostOp> post{AddOperand{1}, Activation{ActivationKind::kRelu, 0, 0}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    expect_equals_reference(call_of(Reduce{ReduceKind::kSum, {2}, true},
                                    {dense(0, {2, 5, 3, 4}, layout), dense(1, {2, 5, 1, 4})}, post, layout, 1));
    expect_equals_reference(call_of(Reduce{ReduceKind::kSum, {0, 2}, false},
                                    {dense(0, {2, 5, 3, 4}, layout), dense(1, {5, 4})}, post, layout, 1));
  }
}

TEST(OwnReduce, AddsUpManyNumbersWithoutLosingTheSmall) {
  CallRunner runner(call_of(Reduce{ReduceKind::kMean, {0}, false}, {dense(0, {400000})}));
  runner.set_input(0, std::vector<float>(400000, 1.1F));
  const std::vector<float> mean = runner.run(*make_own_kernels_on_host());
  ASSERT_EQ(mean.size(), 1U);
  EXPECT_FLOAT_EQ(mean[0], 1.1F);
}

/// What one lane of these values comes to.
float reduced(ReduceKind kind, const std::vector<float>& values) {
  CallRunner runner(call_of(Reduce{kind, {0}, false}, {dense(0, {static_cast<std::int64_t>(values.size())})}));
  runner.set_input(0, values);
  return runner.run(*make_own_kernels_on_host()).front();
}

TEST(OwnReduce, KeepsInfinitiesAndWhatIsNoNumber) {
  std::vector<float> values(70, 1.0F);
  EXPECT_FLOAT_EQ(reduced(ReduceKind::kLogSumExp, std::vector<float>(70, 1000.0F)), 1000 + std::log(70.0F));
  EXPECT_EQ(reduced(ReduceKind::kLogSumExp, std::vector<float>(70, -kInfinity)), -kInfinity);
  values[40] = kInfinity;
  EXPECT_EQ(reduced(ReduceKind::kSum, values), kInfinity);
  EXPECT_EQ(reduced(ReduceKind::kLogSumExp, values), kInfinity);
  EXPECT_EQ(reduced(ReduceKind::kMin, values), 1);
  values[3] = kNan;
  for (const auto kind :
       {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProduct, ReduceKind::kLogSumExp})
    EXPECT_TRUE(std::isnan(reduced(kind, values)));
}

TEST(OwnArgMax, FindsTheSamePlacesAsTheReference) {
  std::vector<float> values(2 * 5 * 3 * 40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 11);  // with equal ones
  values[7] = kNan;
  for (const bool last : {false, true}) {
    for (const bool smallest : {false, true}) {
      for (const std::int64_t axis : {0, 1, 2, 3}) {
        for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
          for (const bool keep : {false, true}) {
            CallRunner runner(call_of(ArgMax{axis, keep, last, smallest}, {dense(0, {2, 5, 3, 40}, layout)}));
            runner.set_input(0, values);
            expect_same_bits(runner);
          }
        }
      }
    }
  }
}

TEST(OwnArgMax, IsTheFirstPlaceWhereThatHoldsNoNumber) {
  CallRunner runner(call_of(ArgMax{1, false}, {dense(0, {2, 50})}));
  std::vector<float> values(100, 1.0F);
  values[0] = values[60] = kNan;
  values[30] = values[80] = 2;
  runner.set_input(0, values);
  EXPECT_THAT(as_whole_numbers(runner.run(*make_own_kernels_on_host())), ElementsAre(0, 10));
  expect_same_bits(runner);
}

Resize resize(ResizeMode mode, ResizePositions positions, double down, double across) {
  Resize op;
  op.mode = mode;
  op.positions = positions;
  op.scale = {1, 1, down, across};
  op.shape = {2, 3, static_cast<std::int64_t>(5 * down), static_cast<std::int64_t>(6 * across)};
  if (positions == ResizePositions::kCrop) {
    op.crop_begin = {0, 0, -0.25F, 0.2F};
    op.crop_end = {1, 1, 0.75F, 1.2F};
    op.outside = 0.5F;
  }
  return op;
}

TEST(OwnResize, EqualsTheReferenceForEveryModeAndPosition) {
  const std::vector<std::pair<double, double>> scales{{2, 2}, {1.6, 1}, {0.6, 0.5}};
  for (const auto mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic}) {
    for (int positions = 0; positions <= static_cast<int>(ResizePositions::kCrop); ++positions) {
      for (const auto& [down, across] : scales) {
        for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
          const Resize op = resize(mode, static_cast<ResizePositions>(positions), down, across);
          SCOPED_TRACE(canonical(op, {}));
          expect_equals_reference(call_of(op, {dense(0, {2, 3, 5, 6}, layout)}, {}, layout));
        }
      }
    }
  }
}

TEST(OwnResize, EqualsTheReferenceWhereItRoundsAveragesAndLeavesOut) {
  for (int rounding = 0; rounding <= static_cast<int>(ResizeRounding::kCeil); ++rounding) {
    Resize op = resize(ResizeMode::kNearest, ResizePositions::kAsymmetric, 1.4, 0.5);
    op.rounding = static_cast<ResizeRounding>(rounding);
    expect_equals_reference(call_of(op, {dense(0, {2, 3, 5, 6})}));
  }
  for (const auto mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
    Resize averaging = resize(mode, ResizePositions::kHalfPixel, 0.4, 0.34);
    averaging.antialias = true;
    expect_equals_reference(call_of(averaging, {dense(0, {2, 3, 5, 6})}, {Activation{}}));
  }
  Resize excluding = resize(ResizeMode::kCubic, ResizePositions::kHalfPixel, 2, 3);
  excluding.exclude_outside = true;
  expect_equals_reference(call_of(excluding, {channel_slice(0, {2, 3, 5, 6}, 7, 2)}));
}

TEST(OwnResize, KeepsATableBesideItsOperandsAndCountsIt) {
  const auto own = make_own_kernels_on_host();
  const auto listed = own->alternatives(
      call_of(resize(ResizeMode::kLinear, ResizePositions::kHalfPixel, 2, 1), {dense(0, {2, 3, 5, 6})}), 1);
  ASSERT_TRUE(listed) << listed.error().message;
  // Of the height alone: 11 beginnings, and two taps of 8 bytes for each of 10 positions, one at the border.
  EXPECT_EQ(listed->front().packed_weights, Bytes{11 * 4 + (10 * 2 - 2) * 8});
}

TEST(OwnPad, EqualsTheReferenceForEveryModeAlsoWhereItCutsOff) {
  for (const auto mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      const View x = dense(0, {2, 3, 5, 4}, layout);
      expect_equals_reference(call_of(Pad{mode, {0, 0, 2, 9}, {0, 1, 1, 3}, 0.25F}, {x}, {}, layout));
      expect_equals_reference(call_of(Pad{mode, {0, 1, -2, 3}, {0, 0, 4, -1}, -0.5F}, {x}, {Activation{}}, layout));
    }
  }
  expect_equals_reference(call_of(Pad{PadMode::kConstant, {-2, 1}, {5, 0}, 0.5F}, {dense(0, {2, 3})}));
}

TEST(OwnPad, FillsWholeNumbersUpWithOne) {
  CallRunner runner(call_of(Pad{PadMode::kConstant, {1}, {2}, -7, ElementType::kInt32}, {dense(0, {3})}));
  runner.set_input(0, whole_numbers({5, -1, 1 << 30}));
  expect_same_bits(runner);
}

TEST(OwnTile, RepeatsItsInputInBothLayouts) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw})
    expect_equals_reference(call_of(Tile{{2, 1, 3, 2}}, {dense(0, {2, 3, 5, 4}, layout)}, {}, layout));
  expect_equals_reference(call_of(Tile{{1, 2, 1, 2, 1, 2}}, {dense(0, {1, 2, 3, 1, 2, 2})}, {Activation{}}));
}

TEST(OwnConvTranspose, EqualsTheReferenceInBothLayouts) {
  const std::vector<PostOp> post{Activation{ActivationKind::kRelu, 0, 0}};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    const View x = dense(0, {2, 6, 5, 4}, layout);
    for (const std::int64_t groups : {1, 3}) {
      ConvTranspose op{{{3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 2}}, {1, 0}, groups};
      expect_equals_reference(call_of(op, {x, weight({6, 4, 3, 2}), weight({4 * groups})}, post, layout));
      op.window.pad_begin = {-2, 0};
      expect_equals_reference(call_of(op, {x, weight({6, 4, 3, 2})}, {}, layout));
    }
    const ConvTranspose line{{{4}, {2}, {1}, {1}, {1}}, {0}, 1};
    expect_equals_reference(call_of(line, {dense(0, {2, 3, 7}, layout), weight({3, 5, 4}), weight({5})}, {}, layout));
  }
}

TEST(OwnMaxPoolIndices, AreThoseOfTheReference) {
  std::vector<float> values(2 * 3 * 8 * 7);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 29 % 13);  // with equal ones
  values[20] = kNan;
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const bool column_major : {false, true}) {
      const Window window{{3, 2}, {2, 1}, {1, 0}, {1, 1}, {1, 2}};
      CallRunner runner(call_of(MaxPoolIndices{window, true, column_major}, {dense(0, {2, 3, 8, 7}, layout)}));
      runner.set_input(0, values);
      expect_same_bits(runner);
      CallRunner line(
          call_of(MaxPoolIndices{{{3}, {2}, {1}, {1}, {1}}, false, column_major}, {dense(0, {2, 3, 56}, layout)}));
      line.set_input(0, values);
      expect_same_bits(line);
    }
  }
}

}  // namespace
}  // namespace cohort::testing
