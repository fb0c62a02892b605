// Gradients of whole networks against central differences of their loss.

#include <gtest/gtest.h>

#include <set>

#include "models/networks/networks.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/training/step.hpp"
#include "tests/random/generator.hpp"

namespace cohort {
namespace {

struct Case {
  const char* name;
  NetworkArguments arguments;
  std::int64_t minibatch = 4;
  std::int64_t image = 0;  ///< extent of a smaller image, for plain loops; 0: as it is
  LossKind loss = LossKind::kCrossEntropy;
};

std::string print(const testing::TestParamInfo<Case>& info) { return info.param.name; }

class NetworkGradient : public testing::TestWithParam<Case> {};

/// Networks with rectifiers and maxima have kinks everywhere; a direction that meets none is looked for.
TEST_P(NetworkGradient, IsTheSlopeOfTheLoss) {
  const Case& c = GetParam();
  Model model = make_network(c.name, c.minibatch, c.arguments).value();
  if (c.image > 0) model = with_smaller_image(std::move(model), c.image);
  // A few samples' variances may be next to zero, and dividing by them would raise rounding to the power of the depth.
  for (Op& op : model.ops) {
    if (auto* normalization = std::get_if<BatchNormalization>(&op.attributes)) normalization->epsilon = 1;
  }
  Weights weights = random_weights(model, 3);
  const auto training = differentiate({std::move(model), std::move(weights)}, {c.loss, {}, false});
  ASSERT_TRUE(training) << training.error().message;
  const GradientCheck check = check_gradient(ReferenceTraining(*training, 1), c.image > 16 ? 1 : 3, 7);
  EXPECT_GE(check.counted, 1) << "no direction without a kink";
  EXPECT_LT(check.worst, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(
    BuiltIn, NetworkGradient,
    testing::Values(Case{"mlp", {{"inputs", "12"}, {"hidden", "16"}}}, Case{"lenet5", {}},
                    Case{"lstm", {{"steps", "5"}, {"inputs", "8"}, {"hidden", "6"}, {"classes", "8"}}},
                    Case{"gru", {{"steps", "5"}, {"inputs", "8"}, {"hidden", "6"}, {"classes", "8"}}},
                    Case{"encoder", {{"tokens", "6"}, {"width", "16"}}, 2, 0, LossKind::kMeanSquaredError},
                    Case{"smallcnn", {}, 4, 16}, Case{"resnet18", {{"classes", "10"}}, 4, 32},
                    Case{"mobilenet_v2", {{"classes", "10"}}, 4, 32},
                    Case{"squeezenet1_1", {{"classes", "10"}}, 2, 40}),
    print);

/// Of the large ones what is made of them is looked at, not run.
TEST(NetworkGradient, IsMadeOfEveryBuiltInNetwork) {
  for (const Network& network : networks()) {
    SCOPED_TRACE(network.name);
    Model model = make_network(network.name, 2, {}).value();
    Weights weights;
    weights.by_tensor.resize(model.tensors.size());
    const std::int64_t parameters = parameter_count(model);
    const auto training = differentiate({std::move(model), std::move(weights)}, {});
    ASSERT_TRUE(training) << training.error().message;
    std::int64_t trained = 0, kept = 0;
    for (const PackedTensor& each : training->parameters) trained += element_count(each.shape);
    for (const PackedTensor& each : training->statistics) kept += element_count(each.shape);
    EXPECT_EQ(trained + kept, parameters);
    std::set<std::string> first;  // what gradients by the data would be called
    for (const Op& op : training->loaded.model.ops) {
      if (op.inputs[0] == training->loaded.model.inputs[0]) first.insert(op.name + ".dx");
    }
    for (const Op& op : training->loaded.model.ops) EXPECT_FALSE(first.contains(op.name)) << op.name;
  }
}

class RandomGradient : public testing::TestWithParam<int> {};

TEST_P(RandomGradient, IsTheSlopeOfTheLoss) {
  int counted = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(GetParam()) * 40 + i;
    const auto training = differentiate(random_model(seed), {LossKind::kMeanSquaredError, {}, false});
    if (!training) {
      // Nothing to train, or a channel of one value.
      const std::string& why = training.error().message;
      const bool is_known = why.find("no weights") != why.npos || why.find("no variance") != why.npos;
      EXPECT_TRUE(is_known) << seed << ": " << why;
      continue;
    }
    const GradientCheck check = check_gradient(ReferenceTraining(*training, seed), 2, seed);
    EXPECT_LT(check.worst, 2e-2) << "seed " << seed;
    counted += check.counted;
  }
  EXPECT_GT(counted, 10);
}

INSTANTIATE_TEST_SUITE_P(Graphs, RandomGradient, testing::Range(0, 5));

}  // namespace
}  // namespace cohort
