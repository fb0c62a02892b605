#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "models/builder.hpp"
#include "models/compute/evaluate.hpp"
#include "models/model.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

struct BadCase {
  const char* name;
  OpAttributes op;
  std::vector<Shape> inputs;
  const char* message;
};
void PrintTo(const BadCase& it, std::ostream* out) { *out << it.name; }

class TrainingShapes : public testing::TestWithParam<BadCase> {};

TEST_P(TrainingShapes, ThatDoNotFitAreRefusedWithWhatWouldBeRight) {
  const Result<Shape> shape = infer_shape(GetParam().op, GetParam().inputs);
  ASSERT_FALSE(shape) << to_string(*shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(shape.error().message, HasSubstr(GetParam().message));
}

const Window kThreeByThree{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
const BadCase kBadCases[] = {
    {"PackTooSmall", Pack{{0, 16}, 20}, {{10}, {5}}, "input 1 of 5 elements does not fit at 16 into a pack of 20"},
    {"PackOverlaps",
     Pack{{8, 0}, 32},
     {{4}, {3, 3}},
     "input 0 begins at 8 of the pack, within input 1, which ends at 9"},
    {"PackOffsets", Pack{{0}, 32}, {{4}, {4}}, "an entry for each of the 2 inputs, not 1"},
    {"UnpackBehindRow", Unpack{10, {8}}, {{2, 16}}, "[8] from element 10 on does not fit into the 16"},
    {"ConvolutionDy",
     ConvolutionWeightGradient{kThreeByThree},
     {{2, 3, 5, 5}, {2, 4, 5, 4}},
     "dy must be [2, 4, 5, 5]"},
    {"ConvolutionGroups",
     ConvolutionWeightGradient{kThreeByThree, 2},
     {{2, 3, 5, 5}, {2, 4, 5, 5}},
     "groups must divide C = 3"},
    {"ConvolutionModels",
     ConvolutionWeightGradient{kThreeByThree, 1, false, 2},
     {{2, 3, 5, 5}, {2, 4, 5, 5}},
     "models must divide the channels 3 of x and 4 of dy"},
    {"GemmDy", GemmWeightGradient{}, {{2, 3, 4}, {3, 5}}, "dy must be [2, 5], not [3, 5]"},
    {"GemmStacked", GemmWeightGradient{false, true}, {{2, 3, 4}, {3, 5}}, "dy must be [M, N, O]"},
    {"PoolDy", PoolGradient{{PoolKind::kAverage, kThreeByThree}, {5, 5}}, {{2, 3, 4, 5}}, "dy must be [2, 3, 5, 5]"},
    {"PoolX",
     PoolGradient{{PoolKind::kMax, kThreeByThree}, {5, 5}},
     {{2, 3, 5, 5}, {2, 3, 5, 6}},
     "x must be [2, 3, 5, 5]"},
    {"PoolInputs", PoolGradient{{PoolKind::kMax, kThreeByThree}, {5, 5}}, {{2, 3, 5, 5}}, "takes 2 inputs, not 1"},
    {"Activation", ActivationGradient{}, {{2, 3}, {3, 2}}, "dy must be [2, 3]"},
    {"Labels", SoftmaxCrossEntropy{}, {{4, 10, 3}, {4, 10}}, "labels must be [4, 3], not [4, 10]"},
    {"BatchScale", NormalizeByStatistics{}, {{2, 3, 4}, {2}, {3}, {2, 3}}, "scale must be [3]"},
    {"BatchStatistics", NormalizeByStatistics{}, {{2, 3, 4}, {3}, {3}, {3, 2}}, "statistics must be [2, 3]"},
    {"BatchPack", BatchNormalizationGradient{}, {{2, 3}, {3}, {2, 3}, {2, 3}, {6}}, "dscale and dshift must be [32]"},
    {"LayerScale", LayerNormalizationGradient{2}, {{2, 3, 4}, {3, 4}, {2, 3, 4}}, "scale must be [4]"},
    {"GroupScale", GroupNormalizationGradient{2}, {{2, 4, 3}, {3}, {2, 4, 3}}, "scale must be [4]"},
    {"LstmY", LstmGradient{2}, {{5, 1, 3}, {8, 3}, {8, 2}, {8}, {5, 1, 3}, {5, 1, 2}}, "y must be [5, 1, 2]"},
    {"GatherDy", GatherGradient{1, 5}, {{2, 3}, {4, 3, 2}}, "dy must be [4, 2, 3], not [4, 3, 2]"},
    {"SliceDy", TensorSliceGradient{{3}, {1}, {5}}, {{3}}, "3 elements from 3 by 1 are not inside"},
    {"DropoutKey", Dropout{0, true}, {{3, 4}, {3, 1}, {4}}, "key must be [3, 4], not [4]"},
    {"UpdateRows", Update{UpdateRule::kAdam}, {{2, 32}, {32}, {10}}, "state must have 3 rows for this rule"},
    {"UpdateGradient", Update{}, {{1, 32}, {16}, {10}}, "gradient must be [32]"},
    {"UpdateNesterov", Update{UpdateRule::kSgd, false, true}, {{1, 32}, {32}, {10}}, "only with momentum"},
    {"UpdateSettings", Update{}, {{1, 32}, {32}, {9}}, "settings must be [10]"},
    {"Average", RunningAverage{0.1F, true}, {{32}, {32}}, "state must be [M, S]"},
};
INSTANTIATE_TEST_SUITE_P(Table, TrainingShapes, testing::ValuesIn(kBadCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(TrainingShapes, OfRecurrentGradientsHaveAPartForEachInputButLengths) {
  Recurrent layer;
  layer.hidden = 2;
  layer.has_lengths = layer.has_state = true;
  const std::vector<Shape> inputs{{4, 1, 3}, {1, 8, 3}, {1, 8, 2}, {1, 16}, {1}, {1, 1, 2}, {4, 1, 1, 2}, {4, 1, 1, 2}};
  EXPECT_EQ(infer_shape(RecurrentGradient{layer}, inputs).value(), (Shape{16 + 32 + 16 + 16 + 16}));
  std::vector<ElementType> types(inputs.size(), ElementType::kFloat32);
  EXPECT_FALSE(infer_element(RecurrentGradient{layer}, types));
  types[4] = ElementType::kInt32;
  EXPECT_TRUE(infer_element(RecurrentGradient{layer}, types));
}

TEST(TrainingTypes, AreWholeNumbersForLabelsIndicesAndKeys) {
  constexpr auto kFloat = ElementType::kFloat32;
  constexpr auto kWhole = ElementType::kInt32;
  const auto accepts = [](const OpAttributes& op, const std::vector<ElementType>& types) {
    return infer_element(op, types).has_value();
  };
  EXPECT_TRUE(accepts(SoftmaxCrossEntropy{}, {kFloat, kWhole}));
  EXPECT_FALSE(accepts(SoftmaxCrossEntropy{}, {kFloat, kFloat}));
  EXPECT_TRUE(accepts(SoftmaxCrossEntropyGradient{}, {kFloat, kWhole}));
  EXPECT_TRUE(accepts(GatherGradient{}, {kWhole, kFloat}));
  EXPECT_FALSE(accepts(GatherGradient{}, {kFloat, kFloat}));
  EXPECT_TRUE(accepts(Dropout{}, {kFloat, kFloat, kWhole}));
  EXPECT_FALSE(accepts(Dropout{}, {kFloat, kFloat, kFloat}));
  EXPECT_FALSE(accepts(Update{}, {kFloat, kFloat, kWhole}));
}

/// w, a state, of which y = x w^T is computed before it is updated by a given gradient.
struct Step {
  Model model;
  TensorId state{0}, x{1}, gradient{2}, settings{3}, w{4}, y{5}, next{6};

  Step() {
    model.name = "step";
    const auto add = [&](std::string name, Shape shape, TensorRole role) {
      model.tensors.push_back({std::move(name), std::move(shape), role});
    };
    add("parameters", {1, 16}, TensorRole::kState);
    add("x", {1, 2}, TensorRole::kInput);
    add("gradient", {16}, TensorRole::kInput);
    add("settings", {kSettingCount}, TensorRole::kSetting);
    add("w", {3, 2}, TensorRole::kActivation);
    add("y", {1, 3}, TensorRole::kActivation);
    add("next", {1, 16}, TensorRole::kActivation);
    model.inputs = {x, gradient, settings};
    model.ops = {{"w", Unpack{0, {3, 2}}, {}, {state}, {w}},
                 {"y", Gemm{}, {}, {x, w}, {y}},
                 {"update", Update{}, {}, {state, gradient, settings}, {next}}};
    model.outputs = {y};
  }
};

TEST(States, AreReadBeforeTheyAreUpdated) {
  Step step;
  EXPECT_TRUE(validate(step.model));
  std::swap(step.model.ops[0], step.model.ops[2]);
  std::swap(step.model.ops[1], step.model.ops[2]);
  const Result<void> checked = validate(step.model);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("reads state parameters behind the op that updates it"));
}

TEST(States, AloneAreUpdated) {
  Step step;
  step.model.tensors[0].role = TensorRole::kWeight;
  const Result<void> checked = validate(step.model);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("updates tensor parameters, which is no state"));
}

TEST(States, HaveTheirFirstValuesInWeightsAndTheNextAsOutput) {
  Step step;
  step.model.outputs.push_back(step.next);
  LoadedModel loaded{step.model, {}};
  loaded.weights.by_tensor.resize(step.model.tensors.size());
  std::vector<float> first(16, 0.0F);
  for (std::size_t i = 0; i < 6; ++i) first[i] = static_cast<float>(i);
  loaded.weights.by_tensor[0] = std::make_shared<const std::vector<float>>(first);
  std::vector<float> settings(kSettingCount, 0.0F);
  settings[static_cast<std::size_t>(Setting::kLearningRate)] = 0.5F;
  const auto outputs = reference::evaluate(loaded, {{1, 10}, std::vector<float>(16, 2.0F), settings});
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[0], (std::vector<float>{10, 32, 54}));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_FLOAT_EQ((*outputs)[1][i], first[i] - 1);
}

TEST(States, KeepTheirUpdatesWhenAModelIsSimplified) {
  const Step step;
  const LoadedModel simple = simplify({step.model, {}});
  ASSERT_EQ(simple.model.ops.size(), 3U);
  EXPECT_TRUE(updates_state(simple.model.ops.back()));
}

TEST(States, CountAsParametersWhereTheyAreUnpacked) {
  const Step step;
  EXPECT_EQ(parameter_count(step.model), 6);
  const OpWork work = work_of(step.model, step.model.ops[0]);
  EXPECT_EQ(work.read.value, 24);
  EXPECT_EQ(work.parameters.value, 24);
  EXPECT_EQ(work.written.value, 24);
  EXPECT_EQ(work_of(step.model, step.model.ops[2]).read.value, 4 * (16 + 16 + kSettingCount));
}

TEST(TrainingWork, OfWeightGradientsIsThatOfTheForwardPass) {
  ModelBuilder builder("pair");
  const TensorId x = builder.input("x", {2, 4, 8, 8});
  const TensorId y = builder.convolution("conv", x, {6, 3, 2, 1, 2, true});
  const TensorId dy = builder.input("dy", builder.shape(y));
  const Window window{{3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  builder.output(builder.add("dw", ConvolutionWeightGradient{window, 2, true}, {x, dy}));
  builder.output(y);
  const Model model = builder.finish().value();
  EXPECT_EQ(work_of(model, model.ops[0]).flops.value, work_of(model, model.ops[1]).flops.value);
}

TEST(TrainingNames, TellGradientsApart) {
  EXPECT_EQ(op_type(ActivationGradient{{ActivationKind::kRelu}}), "ReluGradient");
  EXPECT_EQ(op_type(PoolGradient{{PoolKind::kAverage, {}}, {}}), "AveragePoolGradient");
  EXPECT_EQ(op_type(Update{UpdateRule::kAdamW}), "AdamWUpdate");
  EXPECT_NE(canonical(ConvolutionWeightGradient{kThreeByThree, 1, true}, {}),
            canonical(ConvolutionWeightGradient{kThreeByThree, 1, false}, {}));
  EXPECT_NE(canonical(PoolGradient{{PoolKind::kMax, kThreeByThree}, {5, 5}}, {}),
            canonical(PoolGradient{{PoolKind::kMax, kThreeByThree}, {5, 6}}, {}));
  EXPECT_TRUE(is_training_op(Pack{}));
  EXPECT_TRUE(is_training_op(RunningAverage{}));
  EXPECT_FALSE(is_training_op(ArgMax{}));
}

}  // namespace
}  // namespace cohort
