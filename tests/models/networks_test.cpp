#include "models/networks/networks.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace cohort {
namespace {

using testing::HasSubstr;

Model make(std::string_view name, std::int64_t minibatch = 2, const NetworkArguments& arguments = {}) {
  Result<Model> model = make_network(name, minibatch, arguments);
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

const Op& op_named(const Model& model, std::string_view name) {
  const auto found = std::find_if(model.ops.begin(), model.ops.end(), [&](const Op& op) { return op.name == name; });
  EXPECT_NE(found, model.ops.end()) << name;
  return *found;
}

Shape output_of(const Model& model, std::string_view op) { return model.tensor(op_named(model, op).outputs[0]).shape; }

TEST(Networks, AreAllValidAndHaveOneInputAndOneOutput) {
  EXPECT_EQ(networks().size(), 7U);
  for (const Network& network : networks()) {
    const Model model = make(network.name, 3);
    EXPECT_TRUE(validate(model)) << network.name;
    EXPECT_EQ(model.name, network.name);
    EXPECT_EQ(model.inputs.size(), 1U);
    EXPECT_EQ(model.outputs.size(), 1U);
    EXPECT_FALSE(network.description.empty());
  }
}

TEST(Networks, StandInOrderOfTheirNames) {
  EXPECT_TRUE(std::is_sorted(networks().begin(), networks().end(),
                             [](const Network& a, const Network& b) { return a.name < b.name; }));
}

TEST(Networks, SqueezenetHasThePublishedNumberOfParameters) {
  EXPECT_EQ(parameter_count(make("squeezenet1_1")), 1'235'496);
}

TEST(Networks, ResnetHasThePublishedNumberOfParameters) {
  // 4800 channels are normalised; their running means and variances are not counted as parameters.
  EXPECT_EQ(parameter_count(make("resnet18")) - 2 * 4800, 11'689'512);
}

TEST(Networks, LenetHasTheParametersOfItsCommonReading) {
  // 6*25+6, 16*6*25+16, 120*400+120, 84*120+84, 10*84+10
  EXPECT_EQ(parameter_count(make("lenet5")), 156 + 2416 + 48120 + 10164 + 850);
}

TEST(Networks, MlpCountsFollowItsArguments) {
  EXPECT_EQ(parameter_count(make("mlp")), 784 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
  const Model small = make("mlp", 1, {{"inputs", "3"}, {"hidden", "4"}, {"layers", "1"}, {"classes", "2"}});
  EXPECT_EQ(parameter_count(small), 3 * 4 + 4 + 4 * 2 + 2);
}

TEST(Networks, Alexnet5HasThreeConvolutionsAndTwoFullyConnectedLayers) {
  const Model model = make("alexnet5");
  EXPECT_EQ(output_of(model, "conv1"), (Shape{2, 64, 55, 55}));
  EXPECT_EQ(output_of(model, "pool1"), (Shape{2, 64, 27, 27}));
  EXPECT_EQ(output_of(model, "conv2"), (Shape{2, 192, 27, 27}));
  EXPECT_EQ(output_of(model, "conv3"), (Shape{2, 256, 13, 13}));
  EXPECT_EQ(output_of(model, "pool3"), (Shape{2, 256, 6, 6}));
  EXPECT_EQ(output_of(model, "fc1"), (Shape{2, 1024}));
  EXPECT_EQ(output_of(model, "fc2"), (Shape{2, 1000}));
}

TEST(Networks, SmallcnnHalvesTheImageFiveTimes) {
  const Model model = make("smallcnn");
  EXPECT_EQ(output_of(model, "conv1"), (Shape{2, 16, 114, 114}));
  EXPECT_EQ(output_of(model, "conv5"), (Shape{2, 64, 8, 8}));
  EXPECT_EQ(output_of(model, "fc"), (Shape{2, 10}));
  EXPECT_EQ(output_of(make("smallcnn", 1, {{"width", "8"}}), "conv5"), (Shape{1, 32, 8, 8}));
}

TEST(Networks, SqueezenetRoundsItsPoolsUp) {
  const Model model = make("squeezenet1_1");
  EXPECT_EQ(output_of(model, "conv1"), (Shape{2, 64, 111, 111}));
  EXPECT_EQ(output_of(model, "pool1"), (Shape{2, 64, 55, 55}));
  EXPECT_EQ(output_of(model, "fire9.concat"), (Shape{2, 512, 13, 13}));
  EXPECT_EQ(output_of(model, "flatten"), (Shape{2, 1000}));
}

TEST(Networks, ResnetShrinksTheImageToSevenBySeven) {
  const Model model = make("resnet18");
  EXPECT_EQ(output_of(model, "pool1"), (Shape{2, 64, 56, 56}));
  EXPECT_EQ(output_of(model, "layer4.1.relu2"), (Shape{2, 512, 7, 7}));
  EXPECT_EQ(output_of(model, "fc"), (Shape{2, 1000}));
}

TEST(Networks, LstmKeepsStepsBeforeSamples) {
  const Model model = make("lstm", 3, {{"hidden", "16"}});
  EXPECT_EQ(model.tensor(model.inputs[0]).shape, (Shape{20, 3, 128}));
  EXPECT_EQ(output_of(model, "lstm"), (Shape{20, 3, 16}));
  EXPECT_EQ(output_of(model, "fc"), (Shape{60, 128}));
}

TEST(Work, OfAConvolutionIsThatWorkedOutByHand) {
  const Model model = make("alexnet5", 2);
  const OpWork work = work_of(model, op_named(model, "conv1"));
  const std::int64_t outputs = 2LL * 64 * 55 * 55;
  EXPECT_EQ(work.flops.value, outputs * (2 * 3 * 11 * 11) + outputs);
  EXPECT_EQ(work.parameters.value, 4 * (64 * 3 * 11 * 11 + 64));
  EXPECT_EQ(work.read.value, 4 * (2 * 3 * 227 * 227 + 64 * 3 * 11 * 11 + 64));
  EXPECT_EQ(work.written.value, 4 * outputs);
}

TEST(Work, OfAMatrixProductIsThatWorkedOutByHand) {
  const Model model = make("mlp", 16);
  const OpWork work = work_of(model, op_named(model, "fc1"));
  EXPECT_EQ(work.flops.value, 16 * 256 * (2 * 784 + 1));
  EXPECT_EQ(work.read.value, 4 * (16 * 784 + 256 * 784 + 256));
}

TEST(Work, OfAModelIsTheSumOverItsOps) {
  const Model model = make("resnet18", 1);
  std::int64_t flops = 0;
  for (const Op& op : model.ops) flops += work_of(model, op).flops.value;
  EXPECT_EQ(work_of(model).flops.value, flops);
  // 1.814 G multiply-adds are published for 224x224.
  EXPECT_NEAR(static_cast<double>(flops), 2 * 1.814e9, 0.02 * 2 * 1.814e9);
}

TEST(Networks, RefuseArgumentsOutOfRangeByName) {
  const auto message = [](std::string_view name, std::int64_t minibatch, const NetworkArguments& arguments) {
    const Result<Model> model = make_network(name, minibatch, arguments);
    return model ? std::string("made") : model.error().message;
  };
  EXPECT_THAT(message("mlp", 1, {{"hidden", "0"}}), HasSubstr("argument hidden: must be a whole number from 1"));
  EXPECT_THAT(message("mlp", 1, {{"hidden", "12x"}}), HasSubstr("not \"12x\""));
  EXPECT_THAT(message("mlp", 1, {{"hidden", ""}}), HasSubstr("not \"\""));
  EXPECT_THAT(message("mlp", 1, {{"hidden", "99999999999999999999"}}), HasSubstr("argument hidden"));
  EXPECT_THAT(message("mlp", 1, {{"width", "3"}}), HasSubstr("known are inputs, hidden, layers, classes"));
  EXPECT_THAT(message("mlp", 0, {}), HasSubstr("the minibatch must be from 1 to 65536, not 0"));
  EXPECT_THAT(message("mlp", 65537, {}), HasSubstr("not 65537"));
  EXPECT_THAT(message("mlp", 1, {{"hidden", "16384"}, {"layers", "256"}}), HasSubstr("choose smaller arguments"));
  EXPECT_THAT(message("vgg", 1, {}), HasSubstr("known are alexnet5, lenet5, lstm, mlp"));
}

}  // namespace
}  // namespace cohort
