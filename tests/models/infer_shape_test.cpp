#include <gmock/gmock.h>

#include "models/op.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

Window window(std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t dilation = 1) {
  return {{kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, {dilation, dilation}};
}

struct Case {
  const char* name;
  OpAttributes attributes;
  std::vector<Shape> inputs;
  Shape output;
};

class InferShape : public testing::TestWithParam<Case> {};

TEST_P(InferShape, GivesTheShapeWorkedOutByHand) {
  const Result<Shape> shape = infer_shape(GetParam().attributes, GetParam().inputs);
  ASSERT_TRUE(shape) << shape.error().message;
  EXPECT_EQ(*shape, GetParam().output);
}

const Case kCases[] = {
    {"AlexNetFirst", Convolution{window(11, 4, 0), 1}, {{2, 3, 227, 227}, {64, 3, 11, 11}, {64}}, {2, 64, 55, 55}},
    {"NoBias", Convolution{window(3, 1, 1), 1}, {{1, 3, 7, 9}, {4, 3, 3, 3}}, {1, 4, 7, 9}},
    {"Grouped", Convolution{window(3, 2, 1), 4}, {{1, 8, 7, 7}, {12, 2, 3, 3}}, {1, 12, 4, 4}},
    {"Dilated", Convolution{window(3, 1, 0, 2), 1}, {{1, 1, 9, 9}, {1, 1, 3, 3}}, {1, 1, 5, 5}},
    {"AsymmetricPads",
     Convolution{Window{{3, 3}, {2, 2}, {0, 1}, {1, 0}, {1, 1}}, 1},
     {{1, 1, 6, 7}, {1, 1, 3, 3}},
     {1, 1, 3, 3}},
    {"MaxPool", Pool{PoolKind::kMax, window(3, 2, 0), false, false}, {{1, 4, 56, 56}}, {1, 4, 27, 27}},
    {"CeilPool", Pool{PoolKind::kMax, window(3, 2, 0), true, false}, {{1, 4, 56, 56}}, {1, 4, 28, 28}},
    // The third window would start at 4, behind the 3 elements and the padding before them.
    {"CeilPoolDropsWindowBehindInput",
     Pool{PoolKind::kMax, window(2, 2, 1), true, false},
     {{1, 1, 3, 3}},
     {1, 1, 2, 2}},
    {"CeilPoolWiderThanTheInput", Pool{PoolKind::kMax, window(3, 2, 0), true, false}, {{1, 1, 2, 5}}, {1, 1, 1, 2}},
    {"Gemm", Gemm{}, {{4, 10}, {8, 10}, {8}}, {4, 8}},
    {"GemmFlattens", Gemm{}, {{4, 2, 5, 1}, {8, 10}}, {4, 8}},
    {"GemmStacked", Gemm{true}, {{3, 4, 10}, {3, 8, 10}, {3, 8}}, {3, 4, 8}},
    {"BatchNormalization", BatchNormalization{}, {{2, 5, 3}, {5}, {5}, {5}, {5}}, {2, 5, 3}},
    {"Lrn", LocalResponseNormalization{}, {{2, 5, 3, 3}}, {2, 5, 3, 3}},
    {"Activation", Activation{}, {{7}}, {7}},
    {"BinaryBroadcastsBoth", Binary{}, {{2, 1, 4}, {3, 1}}, {2, 3, 4}},
    {"BinaryWithScalar", Binary{BinaryKind::kMul}, {{2, 3}, {}}, {2, 3}},
    {"Concat", Concat{1}, {{2, 3, 4}, {2, 5, 4}, {2, 1, 4}}, {2, 9, 4}},
    {"Softmax", Softmax{1}, {{2, 10}}, {2, 10}},
    {"Lstm", Lstm{8}, {{20, 2, 5}, {32, 5}, {32, 8}, {32}}, {20, 2, 8}},
    {"Convolution1d", Convolution{Window{{3}, {2}, {1}, {0}, {1}}, 1}, {{2, 4, 9}, {8, 4, 3}}, {2, 8, 4}},
    {"Convolution3d",
     Convolution{Window{{1, 2, 3}, {1, 1, 1}, {0, 0, 0}, {0, 0, 1}, {1, 1, 1}}, 1},
     {{1, 1, 4, 4, 4}, {2, 1, 1, 2, 3}},
     {1, 2, 4, 3, 3}},
    // 2 * (4 - 1) + 1 + 2 * (3 - 1) + 1 - 1 - 2
    {"ConvTranspose", ConvTranspose{Window{{3}, {2}, {1}, {2}, {2}}, {1}, 2}, {{1, 4, 4}, {4, 3, 3}, {6}}, {1, 6, 9}},
    {"MatMulBroadcasts", MatMul{true, false}, {{5, 1, 7, 2}, {3, 7, 4}}, {5, 3, 2, 4}},
    {"GroupNormalization", GroupNormalization{2}, {{1, 4, 3, 3}, {4}, {4}}, {1, 4, 3, 3}},
    {"LayerNormalization", LayerNormalization{2}, {{2, 3, 4}, {4}}, {2, 3, 4}},
    {"Transpose", Transpose{{2, 0, 1}}, {{2, 3, 4}}, {4, 2, 3}},
    {"SliceBackwards", TensorSlice{{4, 0}, {-2, 1}, {3, 2}}, {{5, 3}}, {3, 2}},
    {"PadAndCrop", Pad{PadMode::kConstant, {1, -1}, {2, 0}}, {{3, 4}}, {6, 3}},
    {"Gather", Gather{1}, {{2, 5, 3}, {4, 6}}, {2, 4, 6, 3}},
    {"ExpandFromFront", Expand{{2, 3, 4}}, {{3, 1}}, {2, 3, 4}},
    {"Tile", Tile{{1, 3}}, {{2, 4}}, {2, 12}},
    {"ReduceKeeps", Reduce{ReduceKind::kMean, {0, 2}, true}, {{2, 3, 4}}, {1, 3, 1}},
    {"ReduceDrops", Reduce{ReduceKind::kMean, {0, 1, 2}, false}, {{2, 3, 4}}, {}},
    {"Scatter", Scatter{}, {{2, 5, 3}, {2, 4, 3}, {2, 4, 3}}, {2, 5, 3}},
    {"ScatterAlike", Scatter{BinaryKind::kAdd}, {{2, 5, 3}, {2, 4, 1}, {2, 4, 3}}, {2, 5, 3}},
    {"ArgMax", ArgMax{1, false}, {{2, 3, 4}}, {2, 4}},
    {"TopK", ArgMax{1, true, false, false, 2}, {{2, 3, 4}}, {2, 2, 4}},
    {"RecurrentWithFinalStates",
     Recurrent{
         RecurrentCell::kLstm, 3, Direction::kBidirectional, {}, 0, false, false, false, false, false, false, true},
     {{7, 2, 5}, {2, 12, 5}, {2, 12, 3}, {2, 24}},
     {9, 2, 2, 3}},
};
INSTANTIATE_TEST_SUITE_P(Table, InferShape, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

struct BadCase {
  const char* name;
  OpAttributes attributes;
  std::vector<Shape> inputs;
  const char* message;
};
void PrintTo(const BadCase& it, std::ostream* out) { *out << it.name; }

class InferShapeRefuses : public testing::TestWithParam<BadCase> {};

TEST_P(InferShapeRefuses, NamingTheDimension) {
  const Result<Shape> shape = infer_shape(GetParam().attributes, GetParam().inputs);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(shape.error().message, HasSubstr(GetParam().message));
}

const BadCase kBadCases[] = {
    {"GroupsDoNotDivide", Convolution{window(3, 1, 1), 3}, {{1, 4, 7, 7}, {6, 1, 3, 3}}, "groups must divide C = 4"},
    {"WrongWeight", Convolution{window(3, 1, 1), 1}, {{1, 4, 7, 7}, {6, 3, 3, 3}}, "w must be [6, 4, 3, 3]"},
    {"WrongBias", Convolution{window(1, 1, 0), 1}, {{1, 1, 1, 1}, {2, 1, 1, 1}, {3}}, "b must be [2], not [3]"},
    {"WindowTooLarge",
     Convolution{window(5, 1, 0), 1},
     {{1, 1, 4, 4}, {1, 1, 5, 5}},
     "reaches over 5 elements along H"},
    {"ZeroStride", Convolution{window(1, 0, 0), 1}, {{1, 1, 4, 4}, {1, 1, 1, 1}}, "stride must be from 1"},
    {"NegativePad", Convolution{window(1, 1, -1), 1}, {{1, 1, 4, 4}, {1, 1, 1, 1}}, "pad_begin must be from 0"},
    {"HugePad", Convolution{window(1, 1, INT64_MAX), 1}, {{1, 1, 4, 4}, {1, 1, 1, 1}}, "pad_begin must be from 0"},
    {"OneDimensionalWindow",
     Convolution{Window{{3}, {1}, {0}, {0}, {1}}, 1},
     {{1, 1, 4, 4}, {1, 1, 3, 3}},
     "must have 2 entries"},
    {"PoolOfOnlyPadding", Pool{PoolKind::kMax, window(2, 1, 2), false, false}, {{1, 1, 4, 4}}, "padding along H"},
    {"PoolOfVector", Pool{PoolKind::kMax, window(2, 1, 0), false, false}, {{1, 4}}, "x must be [N, C, H, W]"},
    {"GemmFeatures", Gemm{}, {{4, 2, 5}, {8, 11}}, "has 10 features a sample"},
    {"GemmModelAxis", Gemm{true}, {{2, 4, 10}, {3, 8, 10}}, "model axis of x is 2"},
    {"BatchNormalizationMean", BatchNormalization{}, {{2, 5}, {5}, {5}, {4}, {5}}, "mean must be [5], not [4]"},
    {"BinaryDoesNotBroadcast", Binary{}, {{2, 3}, {2, 4}}, "dimension 1 from the back is 3 and 4"},
    {"ConcatOtherDimension", Concat{1}, {{2, 3}, {3, 3}}, "only dimension 1 may differ"},
    {"ConcatAxis", Concat{2}, {{2, 3}, {2, 3}}, "axis must be from 0 to 1"},
    {"ScatterKind", Scatter{BinaryKind::kPow}, {{2, 3, 4}, {2, 1, 1}, {2, 1, 4}}, "by Add, Mul, Min or Max, not Pow"},
    {"ScatterUpdates", Scatter{}, {{2, 3, 4}, {2, 1, 1}, {2, 1, 3}}, "updates [2, 1, 3] do not fit into [2, 3, 4]"},
    {"ScatterIndices",
     Scatter{},
     {{2, 3, 4}, {1, 2, 1}, {2, 2, 4}},
     "indices must be [2, 2, 4] or [2, 2, 1], not [1, 2, 1]"},
    {"SoftmaxAxis", Softmax{-1}, {{2, 3}}, "axis must be from 0 to 1"},
    {"LstmRecurrent", Lstm{8}, {{20, 2, 5}, {32, 5}, {32, 9}, {32}}, "r must be [32, 8]"},
    {"LstmHugeHidden", Lstm{INT64_MAX}, {{20, 2, 5}, {32, 5}, {32, 9}, {32}}, "hidden must be from 1"},
    {"ReshapeHasNoRule", Reshape{}, {{2, 3}}, "does not follow"},
    {"TooFewInputs", Binary{}, {{2, 3}}, "takes 2 inputs, not 1"},
    {"ZeroExtent", Activation{}, {{2, 0}}, "dimension 1 of shape [2, 0] must be at least 1"},
    {"TooManyElements", Activation{}, {{INT64_MAX, INT64_MAX}}, "more than 2^40 elements"},
};
INSTANTIATE_TEST_SUITE_P(Table, InferShapeRefuses, testing::ValuesIn(kBadCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Canonical, TellsApartWhatDiffersAndOnlyThat) {
  const Convolution plain{window(3, 1, 1), 1};
  const Convolution strided{window(3, 2, 1), 1};
  EXPECT_EQ(canonical(plain, {}), canonical(Convolution{window(3, 1, 1), 1}, {}));
  EXPECT_NE(canonical(plain, {}), canonical(strided, {}));
  EXPECT_NE(canonical(plain, {}), canonical(plain, {Activation{}}));
  EXPECT_NE(canonical(plain, {AddOperand{2}, Activation{}}), canonical(plain, {Activation{}, AddOperand{2}}));
  EXPECT_NE(canonical(Activation{ActivationKind::kElu, 1, 0}, {}),
            canonical(Activation{ActivationKind::kElu, 2, 0}, {}));
  EXPECT_NE(canonical(Pool{PoolKind::kMax, window(2, 2, 0), true, false}, {}),
            canonical(Pool{PoolKind::kMax, window(2, 2, 0), false, false}, {}));
  // 0.1F and its neighbour differ in the last bit only.
  EXPECT_NE(canonical(BatchNormalization{0.1F}, {}), canonical(BatchNormalization{0.10000001F}, {}));
}

}  // namespace
}  // namespace cohort
