#include "models/training/recompute.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "models/networks/networks.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/training/step.hpp"
#include "tests/random/generator.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TensorId append(Model& model, const std::string& name, TensorRole role) {
  model.tensors.push_back({name, {4, 8}, role});
  return static_cast<TensorId>(static_cast<std::uint32_t>(model.tensors.size() - 1));
}

TensorId add(Model& model, const std::string& name, const OpAttributes& attributes, std::vector<TensorId> inputs,
             Phase phase = Phase::kForward) {
  const TensorId y = append(model, name, TensorRole::kActivation);
  model.ops.push_back({name, attributes, {}, std::move(inputs), {y}, phase});
  return y;
}

Activation gelu() { return {ActivationKind::kGelu, 0, 0}; }
Activation relu() { return {ActivationKind::kRelu, 0, 0}; }
constexpr Phase kBackward = Phase::kBackward;

std::vector<std::string> computed_again(const Model& model) {
  std::vector<std::string> names;
  for (const Op& op : recompute_activations(model).ops) {
    if (op.name.ends_with(".again")) names.push_back(op.name);
  }
  return names;
}

TEST(Recompute, ComputesAnewWhatIsMadeOfWhatIsKeptAnyway) {
  Model model;
  const TensorId x = append(model, "x", TensorRole::kInput);
  model.inputs = {x};
  const TensorId a = add(model, "fc1", MatMul{}, {x, x});
  const TensorId b = add(model, "act", gelu(), {a});
  const TensorId c = add(model, "fc2", MatMul{}, {b, x});
  model.outputs = {c};
  const TensorId db = add(model, "fc2.dx", MatMul{}, {c, x}, kBackward);
  add(model, "fc2.dw", MatMul{}, {b, c}, kBackward);
  add(model, "act.dx", ActivationGradient{gelu()}, {a, db}, kBackward);
  const Model again = recompute_activations(model);
  std::vector<std::string> names;
  for (const Op& op : again.ops) names.push_back(op.name);
  EXPECT_THAT(names, ElementsAre("fc1", "act", "fc2", "fc2.dx", "act.again", "fc2.dw", "act.dx"));
  EXPECT_EQ(again.op(OpId{2}).inputs.front(), b) << "the forward pass reads what it read";
  EXPECT_EQ(again.tensor(again.op(OpId{5}).inputs.front()).name, "act.again");
  EXPECT_EQ(again.op(OpId{4}).phase, kBackward);
  for (std::size_t i = 0; i < model.tensors.size(); ++i) EXPECT_EQ(again.tensors[i].name, model.tensors[i].name);
  EXPECT_EQ(recompute_activations(again).ops.size(), again.ops.size()) << "once is enough";
  EXPECT_TRUE(can_recompute(model));
  EXPECT_FALSE(can_recompute(again));
}

TEST(Recompute, LeavesWhatWouldKeepSomethingElse) {
  Model model;
  const TensorId x = append(model, "x", TensorRole::kInput);
  model.inputs = {x};
  const TensorId a = add(model, "fc1", MatMul{}, {x, x});
  const TensorId b = add(model, "act", relu(), {a});  // its gradient is of its result: a is not kept
  const TensorId c = add(model, "fc2", MatMul{}, {b, x});
  model.outputs = {c};
  const TensorId db = add(model, "fc2.dx", MatMul{}, {c, x}, kBackward);
  add(model, "fc2.dw", MatMul{}, {b, c}, kBackward);
  add(model, "act.dx", ActivationGradient{relu()}, {b, db}, kBackward);
  EXPECT_THAT(computed_again(model), IsEmpty());
  EXPECT_FALSE(can_recompute(model));
}

TEST(Recompute, GoesBackThroughWhatNobodyKeepsAndAlongViews) {
  Model model;
  const TensorId x = append(model, "x", TensorRole::kInput);
  model.inputs = {x};
  const TensorId a = add(model, "conv", MatMul{}, {x, x});
  const TensorId statistics = add(model, "statistics", BatchStatistics{}, {a});
  const TensorId n = add(model, "bn", NormalizeByStatistics{}, {a, x, x, statistics});
  const TensorId r = add(model, "act", relu(), {n});
  const TensorId flat = add(model, "flat", Reshape{}, {r});
  const TensorId c = add(model, "fc", MatMul{}, {flat, x});
  model.outputs = {c};
  add(model, "fc.dw", MatMul{}, {flat, c}, kBackward);
  const TensorId dr = add(model, "act.dx", ActivationGradient{relu()}, {r, c}, kBackward);
  add(model, "bn.dx", BatchNormalizationGradient{}, {a, x, statistics, dr, dr}, kBackward);
  EXPECT_THAT(computed_again(model), ElementsAre("bn.again", "act.again", "flat.again"))
      << "each once, whoever reads it";
}

/// Of sums of sums each second one is kept, so that they are not all there at once.
TEST(Recompute, KeepsEachSecondOfAChain) {
  Model model;
  const TensorId x = append(model, "x", TensorRole::kInput);
  model.inputs = {x};
  TensorId sum = add(model, "first", MatMul{}, {x, x});
  std::vector<TensorId> sums{sum};
  for (int i = 0; i < 4; ++i) sums.push_back(sum = add(model, fmt::format("sum{}", i), gelu(), {sum}));
  model.outputs = {add(model, "last", MatMul{}, {sum, x})};
  for (std::size_t i = sums.size(); i-- > 0;) add(model, fmt::format("d{}", i), MatMul{}, {sums[i], x}, kBackward);
  EXPECT_THAT(computed_again(model), ElementsAre("sum2.again", "sum0.again"));
}

/// Each op is looked at once, though every one is read twice by the next.
TEST(Recompute, IsFoundQuicklyInALongChainThatNobodyKeeps) {
  Model model;
  const TensorId x = append(model, "x", TensorRole::kInput);
  model.inputs = {x};
  TensorId sum = add(model, "first", Binary{}, {x, x});
  for (int i = 0; i < 100; ++i) sum = add(model, fmt::format("sum{}", i), Binary{}, {sum, sum});
  const TensorId y = add(model, "act", gelu(), {sum});
  model.outputs = {add(model, "last", MatMul{}, {y, x})};
  add(model, "last.dw", MatMul{}, {y, x}, kBackward);
  EXPECT_EQ(computed_again(model).size(), 102U);
}

/// Bit for bit what a step that keeps all gives, with batch normalisation, residual sums and GELU.
TEST(Recompute, ChangesNothingThatIsLearned) {
  for (const auto& [name, image] : {std::pair("resnet18", 32), std::pair("encoder", 0)}) {
    SCOPED_TRACE(name);
    NetworkArguments arguments;
    if (std::string(name) == "encoder") arguments = {{"tokens", "6"}, {"width", "16"}};
    if (std::string(name) == "resnet18") arguments = {{"classes", "10"}};
    Model model = make_network(name, 2, arguments).value();
    if (image > 0) model = with_smaller_image(std::move(model), image);
    const Weights weights = random_weights(model, 3);
    TrainingSpec spec;
    spec.update.momentum = true;
    if (std::string(name) == "encoder") spec.loss = LossKind::kMeanSquaredError;
    ReferenceTraining kept(differentiate({model, weights}, spec).value(), 1);
    spec.recompute = true;
    ReferenceTraining again(differentiate({model, weights}, spec).value(), 1);
    const Model& recomputing = again.training().loaded.model;
    EXPECT_TRUE(validate(recomputing));
    EXPECT_GT(recomputing.ops.size(), kept.training().loaded.model.ops.size());
    for (ReferenceTraining* each : {&kept, &again}) each->set(Setting::kLearningRate, 0.01F);
    EXPECT_EQ(kept.step(), again.step());
    EXPECT_EQ(kept.state("parameters"), again.state("parameters"));
  }
}

}  // namespace
}  // namespace cohort
