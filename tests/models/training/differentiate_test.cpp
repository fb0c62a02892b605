#include "models/training/differentiate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "models/builder.hpp"
#include "models/compute/evaluate.hpp"
#include "models/networks/networks.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/training/step.hpp"

namespace cohort {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TrainingSpec spec_of(std::string_view optimizer, LossKind loss = LossKind::kCrossEntropy) {
  return {loss, optimizer_from(optimizer).value(), false};
}

LoadedModel network(const std::string& name, std::int64_t minibatch, const NetworkArguments& arguments = {}) {
  Model model = make_network(name, minibatch, arguments).value();
  Weights weights = random_weights(model, 3);
  return {std::move(model), std::move(weights)};
}

LoadedModel small_mlp() {
  return network("mlp", 4, {{"inputs", "6"}, {"hidden", "5"}, {"layers", "1"}, {"classes", "3"}});
}

std::vector<std::string> op_names(const Model& model) {
  std::vector<std::string> names;
  for (const Op& op : model.ops) names.push_back(op.name);
  return names;
}

std::vector<std::string> input_names(const Model& model) {
  std::vector<std::string> names;
  for (const TensorId id : model.inputs) names.push_back(model.tensor(id).name);
  return names;
}

LoadedModel finished(ModelBuilder& builder) {
  Model model = builder.finish().value();
  Weights weights = random_weights(model, 3);
  return {std::move(model), std::move(weights)};
}

/// Convolution, normalisation, rectifier, dropout and a product.
LoadedModel dropout_network(float rate, float momentum = 0.1F) {
  ModelBuilder b("dropout");
  TensorId x = b.input("input", {4, 2, 5, 5});
  x = b.convolution("conv", x, {.channels = 3, .kernel = 3, .bias = false});
  const auto channel = [&](const char* name) { return b.weight(name, {3}); };
  x = b.add("norm", BatchNormalization{1e-3F, momentum},
            {x, channel("scale"), channel("shift"), channel("mean"), channel("variance")});
  x = b.relu("relu", x);
  x = b.linear("fc", b.flatten("flatten", x), 4);
  b.output(x);
  LoadedModel loaded = finished(b);
  // The builder has no settings: the dropout stands between the rectifier and what flattens.
  Model& model = loaded.model;
  const auto add = [&](Tensor tensor, std::vector<float> values = {}) {
    model.tensors.push_back(std::move(tensor));
    loaded.weights.by_tensor.push_back(values.empty() ? nullptr
                                                      : std::make_shared<const std::vector<float>>(std::move(values)));
    return TensorId(static_cast<std::uint32_t>(model.tensors.size() - 1));
  };
  Tensor fixed{"rate", {1}, TensorRole::kWeight};
  fixed.fixed = true;
  const TensorId ratio = add(fixed, {rate});
  const TensorId key = add({"key", {4}, TensorRole::kSetting, ElementType::kInt32});
  model.inputs.push_back(key);
  const TensorId y = add({"dropped", {4, 3, 3, 3}});
  const TensorId rectified = model.ops[2].outputs[0];
  model.ops[3].inputs[0] = y;
  model.ops.insert(model.ops.begin() + 3, Op{"drop", Dropout{}, {}, {rectified, ratio, key}, {y}});
  return loaded;
}

TEST(Differentiate, MakesAStepOfOrdinaryOps) {
  const TrainingModel training = differentiate(small_mlp(), spec_of("sgd")).value();
  const Model& model = training.loaded.model;
  EXPECT_THAT(op_names(model), ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc1", "fc2", "loss",
                                           "loss.dx", "fc2.dw", "fc2.dx", "relu1.dx", "fc1.dw", "gradient", "update"));
  EXPECT_THAT(input_names(model), ElementsAre("input", "labels", "settings"));
  ASSERT_EQ(model.outputs.size(), 1U);
  EXPECT_EQ(model.tensor(model.outputs[0]).name, "loss");
  EXPECT_EQ(model.tensor(model.outputs[0]).shape, Shape{1});
}

TEST(Differentiate, PacksParametersInTheOrderOfTheirOps) {
  const LoadedModel inference = small_mlp();
  const TrainingModel training = differentiate(inference, spec_of("adam")).value();
  ASSERT_EQ(training.parameters.size(), 4U);
  EXPECT_EQ(training.parameters[0].name, "fc1.weight");
  EXPECT_EQ(training.parameters[1].offset, 32);  // behind 30 elements
  const Model& model = training.loaded.model;
  const Tensor& state = model.tensor(model.ops.back().inputs[0]);
  EXPECT_EQ(state.role, TensorRole::kState);
  EXPECT_EQ(state.shape[0], 3);  // parameters and two moments
  const std::vector<float>& values = *training.loaded.weights.of(model.ops.back().inputs[0]);
  const std::vector<float>& bias = *inference.weights.of(training.parameters[1].original);
  EXPECT_EQ(std::vector<float>(values.begin() + 32, values.begin() + 37), bias);
  EXPECT_EQ(values[static_cast<std::size_t>(state.shape[1])], 0);
}

/// One part for what an op gives side by side as it lies in the state.
TEST(Differentiate, LetsOpsWriteTheirGradientsInPlace) {
  const TrainingModel training = differentiate(small_mlp(), spec_of("sgd")).value();
  for (const Op& op : training.loaded.model.ops) {
    const auto* pack = std::get_if<Pack>(&op.attributes);
    if (pack == nullptr) continue;
    EXPECT_THAT(pack->offsets, ElementsAre(0, training.parameters[2].offset));
  }
}

TEST(Differentiate, KeepsAnActivationsInputWhereItsGradientNeedsIt) {
  for (const ActivationKind kind : {ActivationKind::kRelu, ActivationKind::kGelu}) {
    ModelBuilder b("kept");
    TensorId x = b.linear("fc1", b.input("input", {2, 3}), 4);
    x = b.add("act", Activation{kind, 0, 0}, {x});
    b.output(b.linear("fc2", x, 2));
    const TrainingModel training = differentiate(finished(b), spec_of("sgd")).value();
    const auto names = op_names(training.loaded.model);
    if (kind == ActivationKind::kRelu) {
      EXPECT_THAT(names, Not(Contains("act"))) << "is a post-op of fc1";
    } else {
      EXPECT_THAT(names, Contains("act"));
    }
  }
}

TEST(Differentiate, GivesEqualStepsForEqualModels) {
  const LoadedModel inference = network("resnet18", 2, {{"classes", "10"}});
  const TrainingModel a = differentiate(inference, spec_of("adamw")).value();
  const TrainingModel b = differentiate(inference, spec_of("adamw")).value();
  ASSERT_EQ(a.loaded.model.ops.size(), b.loaded.model.ops.size());
  for (std::size_t i = 0; i < a.loaded.model.ops.size(); ++i) {
    const Op& left = a.loaded.model.ops[i];
    const Op& right = b.loaded.model.ops[i];
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.inputs, right.inputs);
    EXPECT_EQ(canonical(left.attributes, left.post_ops), canonical(right.attributes, right.post_ops));
  }
  EXPECT_EQ(a.parameters, b.parameters);
  for (std::size_t i = 0; i < a.loaded.weights.by_tensor.size(); ++i) {
    const WeightValues& left = a.loaded.weights.by_tensor[i];
    ASSERT_EQ(left == nullptr, b.loaded.weights.by_tensor[i] == nullptr);
    if (left == nullptr) continue;
    EXPECT_EQ(*left, *b.loaded.weights.by_tensor[i]);
  }
}

TEST(Differentiate, TakesWhatAFinalSoftmaxTakes) {
  ModelBuilder b("classifier");
  b.output(b.add("softmax", Softmax{1}, {b.linear("fc", b.input("input", {2, 3}), 4)}));
  const TrainingModel training = differentiate(finished(b), spec_of("sgd")).value();
  EXPECT_THAT(op_names(training.loaded.model), Not(Contains("softmax.dx")));
  EXPECT_THAT(op_names(training.loaded.model), Contains("loss"));
}

TEST(Differentiate, TakesWhatASoftmaxTakesWhoseClassesOnlyMove) {
  const auto names = [](const Softmax& softmax, const Shape& scores, const std::vector<std::int64_t>& permutation,
                        const Shape& output) {
    ModelBuilder b("classifier");
    const TensorId x = b.reshape("scores", b.linear("fc", b.input("input", {2, 3}), 12), scores);
    const TensorId moved = b.add("move", Transpose{permutation}, {b.add("softmax", softmax, {x})});
    b.output(b.reshape("flat", moved, output));
    const LoadedModel model = finished(b);
    const auto training = differentiate(model, spec_of("sgd"));
    EXPECT_TRUE(training) << training.error().message;
    std::vector<std::string> ops = op_names(training->loaded.model);
    EXPECT_NE(ends_in_softmax(model.model), std::count(ops.begin(), ops.end(), "softmax.dx") > 0);
    return ops;
  };
  const auto softmax = Contains("softmax.dx");
  EXPECT_THAT(names({3}, {2, 1, 3, 4}, {0, 3, 1, 2}, {2, 4, 3}), Not(softmax));
  EXPECT_THAT(names({1}, {2, 12, 1, 1}, {0, 1, 3, 2}, {2, 12}), Not(softmax));
  EXPECT_THAT(names({2}, {2, 1, 3, 4}, {0, 3, 1, 2}, {2, 4, 3}), softmax) << "of another axis";
  EXPECT_THAT(names({1}, {2, 4, 3, 1}, {0, 1, 2, 3}, {2, 12}), softmax) << "classes that are several in one";
  EXPECT_THAT(names({1, true}, {2, 12, 1, 1}, {0, 1, 2, 3}, {2, 12}), softmax) << "of logarithms";
}

TEST(Differentiate, NamesAnOpWithoutGradient) {
  ModelBuilder b("choosing");
  const TensorId x = b.linear("fc", b.input("input", {2, 3}), 4);
  const TensorId best = b.add("best", ArgMax{1, true, false, false}, {x});
  const TensorId number = b.add("number", Cast{ElementType::kInt32, ElementType::kFloat32}, {best});
  b.output(b.add("sum", Binary{BinaryKind::kMul}, {x, number}));
  const auto training = differentiate(finished(b), spec_of("sgd"));
  ASSERT_FALSE(training);
  EXPECT_EQ(training.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(training.error().message, AllOf(HasSubstr("op best (ArgMax) has no gradient"), HasSubstr("choosing")));

  ModelBuilder c("remainders");
  c.output(c.add("rest", Binary{BinaryKind::kMod}, {c.linear("fc", c.input("input", {2, 3}), 4), c.weight("by", {4})}));
  const auto other = differentiate(finished(c), spec_of("sgd"));
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("op rest (Mod) has no gradient"));
}

TEST(Differentiate, TakesStepsToBeFlat) {
  ModelBuilder b("steps");
  const TensorId x = b.linear("fc", b.input("input", {2, 3}), 4);
  b.output(b.add("floor", Activation{ActivationKind::kFloor, 0, 0}, {x}));
  const ReferenceTraining training(differentiate(finished(b), spec_of("sgd", LossKind::kMeanSquaredError)).value(), 1);
  EXPECT_THAT(training.evaluate(training.parameters()).gradient, testing::Each(0.0F));
}

TEST(Differentiate, SaysWhatALossDoesNotFit) {
  ModelBuilder b("flat");
  const TensorId x = b.linear("fc", b.input("input", {2, 3}), 4);
  b.output(b.add("mean", Reduce{ReduceKind::kMean, {0, 1}, false}, {x}));
  const LoadedModel inference = finished(b);
  const auto classes = differentiate(inference, spec_of("sgd"));
  ASSERT_FALSE(classes);
  EXPECT_THAT(classes.error().message, HasSubstr("cross_entropy needs an output [N, K, ...] of numbers, but mean is"));
  EXPECT_TRUE(differentiate(inference, spec_of("sgd", LossKind::kModelOutput)));

  const auto no_loss = differentiate(small_mlp(), spec_of("sgd", LossKind::kModelOutput));
  ASSERT_FALSE(no_loss);
  EXPECT_THAT(no_loss.error().message, HasSubstr("is no loss: it is float32 [4, 3], not one number"));

  ModelBuilder c("constant");
  c.output(c.relu("relu", c.input("input", {2, 3})));
  const auto nothing = differentiate(finished(c), spec_of("sgd", LossKind::kMeanSquaredError));
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("depends on no weights that could be trained"));
}

TEST(Differentiate, RefusesWhatWasSimplified) {
  const auto training = differentiate(simplify(small_mlp()), spec_of("sgd"));
  ASSERT_FALSE(training);
  EXPECT_THAT(training.error().message, HasSubstr("op fc1 (Gemm): is not part of an inference model as it was read"));
}

TEST(Differentiate, FollowsAMinibatchsStatistics) {
  ReferenceTraining training(differentiate(dropout_network(0.25F, 0.3F), spec_of("sgd")).value(), 2);
  ASSERT_EQ(training.training().statistics.size(), 2U);
  const std::vector<float> before = training.state("statistics");
  training.step();
  const std::vector<float> after = training.state("statistics");
  EXPECT_NE(before, after);
  // Of variance about 0.1 within a factor of some: it moved by three tenths towards it, not all of the way.
  for (std::size_t i = 3; i < 6; ++i) {
    const float target = before[i] + (after[i] - before[i]) / 0.3F;
    EXPECT_GT(target, 0);
  }
}

TEST(Differentiate, DropsByTheModelsRateOrByASetting) {
  const LoadedModel inference = dropout_network(0.25F);
  TrainingSpec spec = spec_of("sgd");
  const TrainingModel own = differentiate(inference, spec).value();
  EXPECT_THAT(input_names(own.loaded.model), ElementsAre("input", "random", "labels", "settings"));
  spec.dropout_from_settings = true;
  ReferenceTraining by_setting(differentiate(inference, spec).value(), 2);
  by_setting.set(Setting::kDropoutRate, 0.25F);
  const ReferenceTraining by_model(own, 2);
  const std::vector<float> start = by_model.parameters();
  EXPECT_EQ(by_setting.loss(start), by_model.loss(start));
  by_setting.set(Setting::kDropoutRate, 0);
  EXPECT_NE(by_setting.loss(start), by_model.loss(start));
}

TEST(Differentiate, HandsGradientsThroughDropoutAndStatistics) {
  const ReferenceTraining training(differentiate(dropout_network(0.25F), spec_of("sgd")).value(), 2);
  const GradientCheck check = check_gradient(training, 6, 7);
  EXPECT_GE(check.counted, 2);
  EXPECT_LT(check.worst, 1e-2);
}

struct Learning {
  const char* network;
  NetworkArguments arguments;
  LossKind loss = LossKind::kCrossEntropy;
  float rate = 2e-2F;  ///< of learning by plain gradients
};
void PrintTo(const Learning& it, std::ostream* out) { *out << it.network; }

class Training : public testing::TestWithParam<Learning> {};

TEST_P(Training, LowersTheLoss) {
  const Learning& c = GetParam();
  for (const char* const optimizer : {"sgd", "momentum", "nesterov", "adam", "adamw"}) {
    for (const bool clip : {false, true}) {
      SCOPED_TRACE(optimizer);
      TrainingSpec spec = spec_of(optimizer, c.loss);
      spec.update.clip = clip;
      ReferenceTraining training(differentiate(network(c.network, 4, c.arguments), spec).value(), 2);
      const bool is_adam = spec.update.rule != UpdateRule::kSgd;
      training.set(Setting::kLearningRate, is_adam ? 3e-3F : spec.update.momentum ? 0.2F * c.rate : c.rate);
      training.set(Setting::kWeightDecay, 1e-3F);
      const double first = training.step();
      double last = first;
      for (int i = 0; i < 20; ++i) last = training.step();
      EXPECT_LT(last, 0.95 * first);
      if (std::string_view(c.network) == "lenet5") break;  // plain loops take long
    }
  }
}

std::string print_learning(const testing::TestParamInfo<Learning>& learning) { return learning.param.network; }

INSTANTIATE_TEST_SUITE_P(Reference, Training,
                         testing::Values(Learning{"mlp", {{"inputs", "12"}, {"hidden", "16"}}}, Learning{"lenet5", {}},
                                         Learning{"lstm",
                                                  {{"steps", "5"}, {"inputs", "8"}, {"hidden", "6"}, {"classes", "8"}},
                                                  LossKind::kCrossEntropy,
                                                  0.5F},
                                         Learning{"encoder",
                                                  {{"tokens", "6"}, {"width", "16"}, {"layers", "1"}},
                                                  LossKind::kMeanSquaredError}),
                         print_learning);

/// What is trained, put back into the network, is what evaluation makes of the states.
TEST(EvaluationModel, ReadsWhatTrainingLeft) {
  const LoadedModel inference = dropout_network(0.25F);
  ReferenceTraining training(differentiate(inference, spec_of("adam")).value(), 2);
  for (int i = 0; i < 3; ++i) training.step();
  LoadedModel evaluation = evaluation_model(inference, spec_of("adam")).value();
  EXPECT_THAT(input_names(evaluation.model), ElementsAre("input"));
  for (std::size_t i = 0; i < evaluation.model.tensors.size(); ++i) {
    const Tensor& tensor = evaluation.model.tensors[i];
    if (tensor.role == TensorRole::kState)
      evaluation.weights.by_tensor[i] = std::make_shared<const std::vector<float>>(training.state(tensor.name));
  }
  const Weights trained =
      trained_weights(inference, training.training(), training.state("parameters"), training.state("statistics"));
  EXPECT_NE(*trained.of(TensorId(1)), *inference.weights.of(TensorId(1)));
  // The network without its dropout, which needs no settings.
  LoadedModel plain{inference.model, trained};
  plain.model.ops[4].inputs[0] = plain.model.ops[2].outputs[0];
  plain.model.ops.erase(plain.model.ops.begin() + 3);
  plain.model.inputs.pop_back();
  const auto data = random_inputs(evaluation.model, 9);
  const auto expected = reference::evaluate(simplify(plain), data).value();
  const auto found = reference::evaluate(evaluation, data).value();
  EXPECT_LT(excess(found[0], expected[0], 1e-5), 1e-5);
}

TEST(EvaluationModel, BeginsAsTheNetwork) {
  const LoadedModel inference = network("lenet5", 2);
  const LoadedModel evaluation = evaluation_model(inference, spec_of("sgd")).value();
  const auto data = random_inputs(evaluation.model, 9);
  const auto expected = reference::evaluate(simplify(inference), data).value();
  const auto found = reference::evaluate(evaluation, data).value();
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_LT(excess(found[0], expected[0], 1e-6), 1e-6);
  EXPECT_EQ(op_names(evaluation.model).size(), op_names(simplify(inference).model).size() + 10U);
}

}  // namespace
}  // namespace cohort
