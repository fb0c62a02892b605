// NaN and infinity pass through the ops as through the reference: members that diverge must be seen.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "comparison.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "models/compute/tensor_ref.hpp"

namespace cohort::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A number, an infinity of a sign, or none.
int kind_of(float x) {
  if (std::isnan(x)) return 3;
  return std::isinf(x) ? (x > 0 ? 1 : 2) : 0;
}

void expect_same_kinds(const CallRunner& runner) {
  const std::vector<float> expected = runner.run(*make_reference_kernels());
  for (const int threads : {1, 2}) {
    const auto list = onednn().alternatives(runner.call(), threads);
    ASSERT_TRUE(list.has_value()) << list.error().message;
    for (const Alternative& alternative : *list) {
      const std::vector<float> got = runner.run(onednn(), alternative);
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(kind_of(got[i]), kind_of(expected[i]))
            << canonical(runner.call().attributes, runner.call().post_ops) << " by " << alternative.algorithm
            << ": element " << i << " is " << got[i] << ", not " << expected[i];
      }
    }
  }
}

/// Numbers with one of each that is not finite in every row of 20, at places that differ.
std::vector<float> numbers_and_others(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = i % 20, row = i / 20;
    values[i] = 0.25F * static_cast<float>(place) - 2;
    if (place == row % 20) values[i] = kNan;
    if (place == (row + 7) % 20) values[i] = kInfinity;
    if (place == (row + 11) % 20) values[i] = -kInfinity;
  }
  return values;
}

TEST(NotFinite, PassesThroughEveryFunction) {
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::kFakeQuantize); ++kind) {
    for (const Shape& shape : {Shape{2, 20, 3, 5}, Shape{7, 20}}) {
      CallRunner runner(with_output(Activation{static_cast<ActivationKind>(kind), 0.5F, 1.5F}, {dense(0, shape)}, 1));
      runner.set_input(0, numbers_and_others(static_cast<std::size_t>(element_count(shape))));
      expect_same_kinds(runner);
    }
  }
}

TEST(NotFinite, PassesThroughArithmeticOfTwo) {
  const Shape shape = {2, 20, 3, 5};
  std::vector<float> values = numbers_and_others(600);
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::kMax); ++kind) {
    for (const Shape& other : {shape, Shape{20, 1, 1}, Shape{}}) {
      for (const bool swapped : {false, true}) {
        const std::vector<Operand> inputs = {dense(0, swapped ? other : shape), dense(1, swapped ? shape : other)};
        CallRunner runner(with_output(Binary{static_cast<BinaryKind>(kind)}, inputs, 2));
        runner.set_input(swapped ? 1 : 0, values);
        expect_same_kinds(runner);
        std::vector<float> others(static_cast<std::size_t>(element_count(other)), 0.5F);
        others[0] = kNan;
        runner.set_input(swapped ? 0 : 1, others);
        expect_same_kinds(runner);
      }
    }
  }
}

TEST(NotFinite, PassesThroughFunctionsBehindElementwiseOps) {
  const Shape shape = {2, 20, 3, 5};
  for (const Activation& after : {Activation{ActivationKind::kRelu}, Activation{ActivationKind::kClip, -1, 1}}) {
    OpCall function = with_output(Activation{ActivationKind::kAbs}, {dense(0, shape)}, 1);
    OpCall sum = with_output(Binary{BinaryKind::kAdd}, {dense(0, shape), dense(1, shape)}, 2);
    for (OpCall* const call : {&function, &sum}) {
      call->post_ops = {after};
      CallRunner runner(*call);
      runner.set_input(0, numbers_and_others(600));
      expect_same_kinds(runner);
    }
  }
}

TEST(NotFinite, PassesThroughReductions) {
  for (int kind = 0; kind <= static_cast<int>(ReduceKind::kLogSumExp); ++kind) {
    for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {2, 3}, {0, 1, 2, 3}}) {
      Reduce reduce;
      reduce.kind = static_cast<ReduceKind>(kind);
      reduce.axes = axes;
      const Shape shape = {2, 20, 3, 5};
      for (const float odd : {kNan, kInfinity, -kInfinity}) {
        CallRunner runner(with_output(reduce, {dense(0, shape)}, 1), 1, 0.5F, 1.5F);
        std::vector<float> values(600, 0.75F);
        values[137] = odd;
        runner.set_input(0, values);
        expect_same_kinds(runner);
        runner.set_input(0, std::vector<float>(600, odd));
        expect_same_kinds(runner);
      }
    }
  }
}

TEST(NotFinite, PassesThroughSoftmax) {
  for (const bool logarithm : {false, true}) {
    for (const float odd : {kNan, kInfinity, -kInfinity}) {
      Softmax softmax;
      softmax.axis = 1;
      softmax.logarithm = logarithm;
      CallRunner runner(with_output(softmax, {dense(0, {4, 20})}, 1));
      std::vector<float> values(80, 0.75F);
      values[23] = odd;
      for (std::size_t i = 40; i < 60; ++i) values[i] = odd;  // a row of nothing else
      runner.set_input(0, values);
      expect_same_kinds(runner);
    }
  }
}

TEST(NotFinite, LeavesSoftmaxOfPartlyMaskedRowsAsItIs) {
  CallRunner runner(with_output(Softmax{}, {dense(0, {4, 20})}, 1));
  std::vector<float> values(80, 0.75F);
  for (std::size_t i = 0; i < values.size(); i += 3) values[i] = -kInfinity;
  runner.set_input(0, values);
  expect_equals_reference(runner);
}

TEST(NotFinite, IsTheFirstLargestAndSmallest) {
  const std::vector<float> values = {1, kNan, 3, kNan, kInfinity, -kInfinity};
  for (const bool smallest : {false, true}) {
    CallRunner runner(with_output(ArgMax{1, true, false, smallest}, {dense(0, {1, 6})}, 1));
    runner.set_input(0, values);
    EXPECT_EQ(reference::whole(runner.run(*make_reference_kernels())[0]), 1);
    EXPECT_EQ(reference::whole(runner.run(onednn())[0]), 1);
  }
  Window window{{6}, {1}, {0}, {0}, {1}};
  CallRunner runner(with_output(MaxPoolIndices{window}, {dense(0, {1, 1, 6})}, 1));
  runner.set_input(0, values);
  EXPECT_EQ(reference::whole(runner.run(*make_reference_kernels())[0]), 1);
}

TEST(NotFinite, IsTheMaximumOfWindowsThatHoldNothingElse) {
  Pool pool;
  pool.kind = PoolKind::kMax;
  pool.window = {{2}, {2}, {0}, {0}, {1}};
  for (const std::int64_t channels : {1, 4, 20}) {
    CallRunner runner(make_call(pool, {dense(0, {1, channels, 8})}, dense(1, {1, channels, 4})));
    std::vector<float> values(static_cast<std::size_t>(channels * 8), 0.5F);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 8 < 4 ? -0.5F : -kInfinity;
    runner.set_input(0, values);
    expect_same_kinds(runner);
  }
}

TEST(NotFinite, PassesThroughPooling) {
  for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (const std::int64_t stride : {1, 2}) {
        Pool pool;
        pool.kind = kind;
        pool.window = square_window(3, stride, 1);
        const std::int64_t extent = stride == 1 ? 9 : 5;
        for (const float odd : {kNan, kInfinity, -kInfinity}) {
          CallRunner runner(
              make_call(pool, {dense(0, {2, 16, 9, 9}, layout)}, dense(1, {2, 16, extent, extent}, layout)));
          std::vector<float> values(2 * 16 * 81, 0.75F);
          for (std::size_t i = 40; i < values.size(); i += 81 * 3) values[i] = odd;
          runner.set_input(0, values);
          expect_same_kinds(runner);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cohort::testing
