#include <gtest/gtest.h>

#include "tests/models/training/op_runner.hpp"

namespace cohort {
namespace {

struct ConvolutionCase {
  const char* name;
  Window window;
  std::int64_t groups;
  Shape x, w;
};
void PrintTo(const ConvolutionCase& it, std::ostream* out) { *out << it.name; }

class ConvolutionGradients : public testing::TestWithParam<ConvolutionCase> {};

TEST_P(ConvolutionGradients, AgreeWithDifferences) {
  const auto& [name, window, groups, x_shape, w_shape] = GetParam();
  const std::vector<Array> inputs{random_array(x_shape, 1), random_array(w_shape, 2), random_array({w_shape[0]}, 3)};
  const Convolution op{window, groups};
  const Array dy = random_array(run_op(op, inputs).shape, 4);
  const Array pack = run_op(ConvolutionWeightGradient{window, groups, true}, {inputs[0], dy});
  const Array dw = part_of(pack, 0, w_shape);
  const Array db = part_of(pack, pack_place(element_count(w_shape)), {w_shape[0]});
  EXPECT_LT(relative_distance(dw, measured_gradient(function_of(op), inputs, 1, dy)), kTolerance);
  EXPECT_LT(relative_distance(db, measured_gradient(function_of(op), inputs, 2, dy)), kTolerance);
  const Array alone = run_op(ConvolutionWeightGradient{window, groups, false}, {inputs[0], dy});
  EXPECT_EQ(part_of(alone, 0, w_shape).values, dw.values);
}

const ConvolutionCase kConvolutions[] = {
    {"Plain", {{3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, 1, {2, 3, 5, 6}, {4, 3, 3, 3}},
    {"Padded", {{3, 2}, {1, 1}, {1, 0}, {2, 1}, {1, 1}}, 1, {2, 2, 4, 4}, {3, 2, 3, 2}},
    {"Strided", {{3, 3}, {2, 3}, {1, 1}, {1, 1}, {1, 1}}, 1, {1, 2, 7, 8}, {3, 2, 3, 3}},
    {"Dilated", {{2, 3}, {1, 1}, {0, 1}, {0, 1}, {2, 2}}, 1, {2, 2, 5, 6}, {2, 2, 2, 3}},
    {"Grouped", {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, {2, 4, 4, 4}, {6, 2, 3, 3}},
    {"Depthwise", {{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, 3, {2, 3, 5, 5}, {3, 1, 3, 3}},
    {"Pointwise", {{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, 1, {3, 5, 2, 2}, {4, 5, 1, 1}},
    {"OneSpatialDimension", {{3}, {2}, {1}, {0}, {1}}, 1, {2, 3, 9}, {4, 3, 3}},
    {"ThreeSpatialDimensions",
     {{2, 1, 2}, {1, 2, 1}, {1, 0, 0}, {0, 0, 1}, {1, 1, 2}},
     1,
     {1, 2, 3, 4, 4},
     {2, 2, 2, 1, 2}},
};
INSTANTIATE_TEST_SUITE_P(Table, ConvolutionGradients, testing::ValuesIn(kConvolutions),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(ConvolutionGradients, OfStackedModelsAreThoseOfEach) {
  const Window window{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  std::vector<Array> xs, dys, packs;
  for (std::uint64_t m = 0; m < 3; ++m) {
    xs.push_back(random_array({2, 4, 4, 5}, 10 + m));
    dys.push_back(random_array({2, 6, 4, 5}, 20 + m));
    packs.push_back(run_op(ConvolutionWeightGradient{window, 2, true}, {xs.back(), dys.back()}));
  }
  const Array all = run_op(ConvolutionWeightGradient{window, 2, true, 3}, {joined(xs, 1), joined(dys, 1)});
  EXPECT_EQ(all.shape, stacked(packs).shape);
  EXPECT_EQ(all.values, stacked(packs).values);

  packs.clear();
  for (const Array& dy : dys) packs.push_back(run_op(ConvolutionWeightGradient{window, 2, true}, {xs[0], dy}));
  const Array shared = run_op(ConvolutionWeightGradient{window, 2, true, 3, true}, {xs[0], joined(dys, 1)});
  EXPECT_EQ(shared.values, stacked(packs).values);
}

TEST(ConvolutionGradients, PacksAreZeroBetweenTheirParts) {
  const Window window{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
  const Array pack = run_op(ConvolutionWeightGradient{window, 1, true},
                            {random_array({2, 3, 2, 2}, 1, 1, 2), random_array({2, 2, 2, 2}, 2, 1, 2)});
  ASSERT_EQ(pack.shape, (Shape{32}));
  for (std::size_t i = 0; i < 32; ++i) {
    const bool in_part = i < 6 || i == 16 || i == 17;
    EXPECT_EQ(pack.values[i] != 0, in_part) << i;
  }
}

TEST(GemmGradients, AgreeWithDifferences) {
  const std::vector<Array> inputs{random_array({3, 2, 5}, 1), random_array({4, 10}, 2), random_array({4}, 3)};
  const Array dy = random_array({3, 4}, 4);
  const Array pack = run_op(GemmWeightGradient{true}, {inputs[0], dy});
  EXPECT_LT(relative_distance(part_of(pack, 0, {4, 10}), measured_gradient(function_of(Gemm{}), inputs, 1, dy)),
            kTolerance);
  EXPECT_LT(relative_distance(part_of(pack, 48, {4}), measured_gradient(function_of(Gemm{}), inputs, 2, dy)),
            kTolerance);
}

TEST(GemmGradients, OfStackedModelsAreThoseOfEach) {
  std::vector<Array> xs, dys, packs;
  for (std::uint64_t m = 0; m < 3; ++m) {
    xs.push_back(random_array({2, 3, 3}, 10 + m));
    dys.push_back(random_array({2, 5}, 20 + m));
    packs.push_back(run_op(GemmWeightGradient{true}, {xs.back(), dys.back()}));
  }
  const Array all = run_op(GemmWeightGradient{true, true}, {stacked(xs), stacked(dys)});
  EXPECT_EQ(all.shape, (Shape{3, packs[0].shape[0]}));
  EXPECT_EQ(all.values, stacked(packs).values);
}

struct PoolCase {
  const char* name;
  Pool pool;
  Shape x;
};
void PrintTo(const PoolCase& it, std::ostream* out) { *out << it.name; }

class PoolGradients : public testing::TestWithParam<PoolCase> {};

TEST_P(PoolGradients, AgreeWithDifferences) {
  const auto& [name, pool, shape] = GetParam();
  const Array x = spread_array(shape, 1);
  const Array dy = random_array(run_op(pool, {x}).shape, 2);
  const PoolGradient op{pool, Shape(shape.begin() + 2, shape.end())};
  const Array dx = pool.kind == PoolKind::kMax ? run_op(op, {dy, x}) : run_op(op, {dy});
  EXPECT_EQ(dx.shape, x.shape);
  EXPECT_LT(relative_distance(dx, measured_gradient(function_of(pool), {x}, 0, dy)), kTolerance);
}

const Window kThree{{3, 3}, {2, 2}, {0, 0}, {0, 0}, {1, 1}};
const Window kThreePadded{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
const PoolCase kPools[] = {
    {"Max", {PoolKind::kMax, kThree, false, false}, {2, 1, 3, 3}},
    {"MaxOverlapping", {PoolKind::kMax, {{3, 2}, {1, 1}, {1, 0}, {1, 1}, {1, 1}}, false, false}, {1, 2, 3, 3}},
    {"MaxCeil", {PoolKind::kMax, {{2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}, true, false}, {1, 1, 3, 5}},
    {"MaxDilated", {PoolKind::kMax, {{2, 2}, {1, 1}, {0, 0}, {0, 0}, {2, 2}}, false, false}, {1, 1, 4, 4}},
    {"MaxOneSpatialDimension", {PoolKind::kMax, {{3}, {2}, {1}, {1}, {1}}, false, false}, {1, 2, 7}},
    {"MaxThreeSpatialDimensions",
     {PoolKind::kMax, {{2, 2, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}}, false, false},
     {1, 1, 2, 3, 3}},
    {"Average", {PoolKind::kAverage, kThree, false, false}, {2, 2, 5, 7}},
    {"AveragePadded", {PoolKind::kAverage, kThreePadded, false, false}, {1, 2, 5, 6}},
    {"AverageCountsPadding", {PoolKind::kAverage, kThreePadded, false, true}, {1, 2, 5, 6}},
    {"AverageCeil", {PoolKind::kAverage, {{3, 3}, {2, 2}, {0, 0}, {1, 0}, {1, 1}}, true, false}, {1, 1, 6, 6}},
    {"AverageCeilCountsPadding",
     {PoolKind::kAverage, {{3, 3}, {2, 2}, {1, 0}, {1, 0}, {1, 1}}, true, true},
     {1, 1, 6, 6}},
    {"AverageGlobal", {PoolKind::kAverage, {{4, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, false, false}, {2, 3, 4, 5}},
    {"AverageThreeSpatialDimensions",
     {PoolKind::kAverage, {{2, 1, 2}, {1, 2, 1}, {1, 0, 0}, {0, 0, 1}, {1, 1, 1}}, false, true},
     {1, 2, 3, 4, 3}},
};
INSTANTIATE_TEST_SUITE_P(Table, PoolGradients, testing::ValuesIn(kPools),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(PoolGradients, GoToTheFirstOfEqualMaxima) {
  const Pool pool{PoolKind::kMax, {{1, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, false, false};
  const Array x{{1, 1, 1, 4}, {2, 5, 5, 1}};
  const Array dx = run_op(PoolGradient{pool, {1, 4}}, {{{1, 1, 1, 2}, {10, 3}}, x});
  EXPECT_EQ(dx.values, (std::vector<float>{0, 13, 0, 0}));
}

}  // namespace
}  // namespace cohort
