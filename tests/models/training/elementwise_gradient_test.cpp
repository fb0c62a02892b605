#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

struct ActivationCase {
  Activation op;
  float low, high;
  std::vector<float> kinks;  ///< where the function has no derivative, or the second jumps
};

class ActivationGradients : public testing::TestWithParam<ActivationCase> {};

TEST_P(ActivationGradients, AgreeWithDifferences) {
  const ActivationCase& given = GetParam();
  Array x = random_array({4, 25}, 1, given.low, given.high);
  for (float& value : x.values) {
    for (const float kink : given.kinks) {
      if (std::abs(value - kink) < 0.1F) value = kink + (value < kink ? -0.1F : 0.1F);
    }
  }
  const Array dy = random_array(x.shape, 2);
  const Array z = derives_from_result(given.op.kind) ? run_op(given.op, {x}) : x;
  const Array dx = run_op(ActivationGradient{given.op}, {z, dy});
  EXPECT_LT(relative_distance(dx, measured_gradient(function_of(given.op), {x}, 0, dy)), kTolerance);
}

using Kind = ActivationKind;
const ActivationCase kActivations[] = {
    {{Kind::kRelu}, -2, 2, {0}},
    {{Kind::kLeakyRelu, 0.1F}, -2, 2, {0}},
    {{Kind::kElu, 1.5F}, -2, 2, {0}},
    {{Kind::kSigmoid}, -3, 3, {}},
    {{Kind::kTanh}, -2, 2, {}},
    {{Kind::kClip, -0.5F, 1}, -2, 2, {-0.5F, 1}},
    {{Kind::kSelu, 1.6732632F, 1.050701F}, -2, 2, {0}},
    {{Kind::kHardSigmoid, 0.2F, 0.5F}, -4, 4, {-2.5F, 2.5F}},
    {{Kind::kHardSwish}, -5, 5, {-3, 3}},
    {{Kind::kSoftplus}, -3, 3, {}},
    {{Kind::kSoftsign}, -3, 3, {0}},
    {{Kind::kGelu}, -3, 3, {}},
    {{Kind::kGeluTanh}, -3, 3, {}},
    {{Kind::kErf}, -2, 2, {}},
    {{Kind::kMish}, -3, 3, {}},
    {{Kind::kSqrt}, 0.5F, 3, {}},
    {{Kind::kNeg}, -2, 2, {}},
    {{Kind::kAbs}, -2, 2, {0}},
    {{Kind::kExp}, -2, 2, {}},
    {{Kind::kLog}, 0.5F, 3, {}},
    {{Kind::kReciprocal}, 0.5F, 3, {}},
    {{Kind::kFloor}, 0.1F, 0.9F, {}},
    {{Kind::kCeil}, 0.1F, 0.9F, {}},
    {{Kind::kRound}, 0.6F, 1.4F, {}},
    {{Kind::kThresholdedRelu, 0.7F}, -2, 2, {0.7F}},
    {{Kind::kCelu, 0.8F}, -2, 2, {0}},
    {{Kind::kSwish, 1.3F}, -3, 3, {}},
    {{Kind::kSign}, 0.1F, 2, {}},
    {{Kind::kSin}, -3, 3, {}},
    {{Kind::kCos}, -3, 3, {}},
    {{Kind::kAsin}, -0.8F, 0.8F, {}},
    {{Kind::kAcos}, -0.8F, 0.8F, {}},
    {{Kind::kAtan}, -3, 3, {}},
    {{Kind::kSinh}, -2, 2, {}},
    {{Kind::kCosh}, -2, 2, {}},
    {{Kind::kAsinh}, -3, 3, {}},
    {{Kind::kAcosh}, 1.5F, 4, {}},
    {{Kind::kAtanh}, -0.8F, 0.8F, {}},
};
INSTANTIATE_TEST_SUITE_P(Table, ActivationGradients, testing::ValuesIn(kActivations),
                         [](const auto& each) { return std::string(op_type(each.param.op)); });

TEST(SoftmaxGradients, AgreeWithDifferences) {
  for (const bool logarithm : {false, true}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      const Array x = random_array({3, 4, 2}, 1, -2, 2);
      const Array dy = random_array(x.shape, 2);
      const Softmax op{axis, logarithm};
      const Array dx = run_op(SoftmaxGradient{axis, logarithm}, {run_op(op, {x}), dy});
      EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), {x}, 0, dy)), kTolerance) << axis << logarithm;
    }
  }
}

TEST(SoftmaxCrossEntropy, IsTheNegativeLogarithmOfTheRightClass) {
  const Array x{{2, 3}, {1, 2, 3, 0, 0, 0}};
  const Array labels = whole_array({2}, {2, 0});
  const float first = std::log(std::exp(1.0F) + std::exp(2.0F) + std::exp(3.0F)) - 3;
  const float second = std::log(3.0F);
  EXPECT_NEAR(run_op(SoftmaxCrossEntropy{LossReduction::kSum, std::nullopt}, {x, labels}).values[0], first + second,
              1e-6);
  EXPECT_NEAR(run_op(SoftmaxCrossEntropy{}, {x, labels}).values[0], (first + second) / 2, 1e-6);
  SoftmaxCrossEntropy ignoring;
  ignoring.ignored = 0;
  EXPECT_NEAR(run_op(ignoring, {x, labels}).values[0], first, 1e-6);
}

TEST(SoftmaxCrossEntropy, OfNoSampleIsZero) {
  SoftmaxCrossEntropy loss;
  loss.ignored = -100;
  const std::vector<Array> inputs{random_array({2, 3}, 1), whole_array({2}, {-100, -100})};
  EXPECT_EQ(run_op(loss, inputs).values, (std::vector<float>{0}));
  EXPECT_EQ(run_op(SoftmaxCrossEntropyGradient{loss}, inputs).values, std::vector<float>(6, 0.0F));
}

TEST(SoftmaxCrossEntropy, HasTheGradientOfItsDifferences) {
  const SoftmaxCrossEntropy losses[] = {
      {LossReduction::kMean, std::nullopt}, {LossReduction::kSum, std::nullopt}, {LossReduction::kMean, 3}};
  for (const SoftmaxCrossEntropy& loss : losses) {
    const std::vector<Array> inputs{random_array({3, 4, 2}, 1, -2, 2), whole_array({3, 2}, {0, 3, 2, 1, 3, 0})};
    const Array dx = run_op(SoftmaxCrossEntropyGradient{loss}, inputs);
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(loss), inputs, 0, {{1}, {1}})), kTolerance);
  }
}

TEST(SoftmaxCrossEntropy, OfStackedModelsIsThatOfEach) {
  SoftmaxCrossEntropy loss;
  loss.ignored = 1;
  std::vector<Array> xs, labels, losses, gradients;
  for (std::int32_t m = 0; m < 3; ++m) {
    xs.push_back(random_array({2, 4}, 10 + static_cast<std::uint64_t>(m)));
    labels.push_back(whole_array({2}, {m, 3}));
    losses.push_back(run_op(loss, {xs.back(), labels.back()}));
    gradients.push_back(run_op(SoftmaxCrossEntropyGradient{loss}, {xs.back(), labels.back()}));
  }
  loss.stacked = true;
  EXPECT_EQ(run_op(loss, {stacked(xs), stacked(labels)}).values, stacked(losses).values);
  EXPECT_EQ(run_op(SoftmaxCrossEntropyGradient{loss}, {stacked(xs), stacked(labels)}).values,
            stacked(gradients).values);
}

TEST(SoftmaxCrossEntropy, StopsAtLabelsThatAreNoClass) {
  for (const std::int32_t label : {-1, 3}) {
    const std::vector<Array> inputs{random_array({1, 3}, 1), whole_array({1}, {label})};
    EXPECT_THROW(run_op(SoftmaxCrossEntropy{}, inputs), std::range_error);
    EXPECT_THROW(run_op(SoftmaxCrossEntropyGradient{}, inputs), std::range_error);
  }
}

}  // namespace
}  // namespace cohort
