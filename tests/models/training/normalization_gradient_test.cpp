#include <gtest/gtest.h>

#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

TEST(BatchStatistics, AreMeanAndVarianceOfEachChannel) {
  const Array x{{2, 2, 2}, {1, 2, 10, 10, 3, 4, 10, 12}};
  EXPECT_EQ(run_op(BatchStatistics{}, {x}).values, (std::vector<float>{2.5F, 10.5F, 1.25F, 0.75F}));
}

TEST(BatchNormalizationGradients, AgreeWithDifferencesThroughTheStatistics) {
  for (const Shape& shape : {Shape{4, 3}, Shape{3, 2, 4}, Shape{2, 3, 3, 2}, Shape{2, 2, 2, 2, 2}}) {
    const std::int64_t channels = shape[1];
    const std::vector<Array> inputs{random_array(shape, 1), random_array({channels}, 2, 0.5F, 2),
                                    random_array({channels}, 3)};
    const float epsilon = 0.01F;
    const Function normalize = [epsilon](const std::vector<Array>& given) {
      const Array statistics = run_op(BatchStatistics{}, {given[0]});
      return run_op(NormalizeByStatistics{epsilon}, {given[0], given[1], given[2], statistics});
    };
    const Array statistics = run_op(BatchStatistics{}, {inputs[0]});
    const Array dy = random_array(shape, 4);
    const Array pack = run_op(BatchNormalizationWeightGradient{epsilon}, {inputs[0], statistics, dy});
    const Array dx = run_op(BatchNormalizationGradient{epsilon}, {inputs[0], inputs[1], statistics, dy, pack});
    EXPECT_LT(relative_distance(dx, measured_gradient(normalize, inputs, 0, dy)), kTolerance) << to_string(shape);
    EXPECT_LT(relative_distance(part_of(pack, 0, {channels}), measured_gradient(normalize, inputs, 1, dy)), kTolerance);
    EXPECT_LT(relative_distance(part_of(pack, 16, {channels}), measured_gradient(normalize, inputs, 2, dy)),
              kTolerance);
  }
}

TEST(LayerNormalizationGradients, AgreeWithDifferences) {
  for (const std::int64_t axis : {0, 1, 2}) {
    const Shape shape{3, 2, 5};
    const Shape inner(shape.begin() + axis, shape.end());
    const std::vector<Array> inputs{random_array(shape, 1), random_array(inner, 2, 0.5F, 2), random_array(inner, 3)};
    const LayerNormalization op{axis, 0.01F};
    const Array dy = random_array(shape, 4);
    const Array dx = run_op(LayerNormalizationGradient{axis, 0.01F}, {inputs[0], inputs[1], dy});
    const Array pack = run_op(LayerNormalizationWeightGradient{axis, 0.01F}, {inputs[0], dy});
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), inputs, 0, dy)), kTolerance) << axis;
    EXPECT_LT(relative_distance(part_of(pack, 0, inner), measured_gradient(function_of(op), inputs, 1, dy)),
              kTolerance);
    const Array dshift = part_of(pack, pack_place(element_count(inner)), inner);
    EXPECT_LT(relative_distance(dshift, measured_gradient(function_of(op), inputs, 2, dy)), kTolerance);
  }
}

TEST(GroupNormalizationGradients, AgreeWithDifferences) {
  struct Case {
    Shape x;
    std::int64_t groups;
    bool per_group;
  };
  for (const auto& [shape, groups, per_group] :
       {Case{{2, 4, 3, 2}, 2, false}, Case{{2, 4, 3}, 2, true}, Case{{2, 3, 2, 3}, 3, false}, Case{{3, 6}, 1, true}}) {
    const Shape parameters{per_group ? groups : shape[1]};
    const std::vector<Array> inputs{random_array(shape, 1), random_array(parameters, 2, 0.5F, 2),
                                    random_array(parameters, 3)};
    const GroupNormalization op{groups, 0.01F};
    const Array dy = random_array(shape, 4);
    const Array dx = run_op(GroupNormalizationGradient{groups, 0.01F}, {inputs[0], inputs[1], dy});
    const Array pack = run_op(GroupNormalizationWeightGradient{groups, 0.01F, per_group}, {inputs[0], dy});
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), inputs, 0, dy)), kTolerance) << to_string(shape);
    EXPECT_LT(relative_distance(part_of(pack, 0, parameters), measured_gradient(function_of(op), inputs, 1, dy)),
              kTolerance);
    EXPECT_LT(relative_distance(part_of(pack, 16, parameters), measured_gradient(function_of(op), inputs, 2, dy)),
              kTolerance);
  }
}

TEST(LocalResponseNormalizationGradients, AgreeWithDifferences) {
  for (const std::int64_t size : {1, 4, 5}) {
    const LocalResponseNormalization op{size, 0.8F, 0.75F, 1.5F};
    const Array x = random_array({2, 7, 3}, 1, -2, 2);
    const Array dy = random_array(x.shape, 2);
    const Array dx = run_op(LocalResponseNormalizationGradient{op}, {x, dy});
    EXPECT_LT(relative_distance(dx, measured_gradient(function_of(op), {x}, 0, dy)), kTolerance) << size;
  }
}

}  // namespace
}  // namespace cohort
