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
  EXPECT_EQ(networks().size(), 15U);
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

/// What is published for a network: layers with weights, parameters that are trained, and the
/// multiply-adds of those layers for one image (torchvision's model pages, in G).
struct Published {
  std::string_view network;
  std::size_t layers;
  std::int64_t parameters;
  double giga_multiply_adds;
};

bool is_weighted_layer(const Op& op) {
  return std::holds_alternative<Convolution>(op.attributes) || std::holds_alternative<Gemm>(op.attributes);
}

double giga_multiply_adds(const Model& model) {
  double sum = 0;
  for (const Op& op : model.ops) {
    if (!is_weighted_layer(op)) continue;
    const Shape& w = model.tensor(op.inputs[1]).shape;
    const std::int64_t outputs = element_count(model.tensor(op.outputs[0]).shape);
    sum += static_cast<double>(outputs * element_count(w) / w[0]);
  }
  return sum / 1e9;
}

/// Running means and variances, which are not trained.
std::int64_t statistics_of(const Model& model) {
  std::int64_t count = 0;
  for (const Op& op : model.ops) {
    if (std::holds_alternative<BatchNormalization>(op.attributes))
      count += 2 * element_count(model.tensor(op.inputs[1]).shape);
  }
  return count;
}

TEST(Networks, HaveThePublishedLayersParametersAndMultiplyAdds) {
  const Published published[] = {
      {"alexnet", 8, 61'100'840, 0.714},        // the paper's five convolutions and three matrix products
      {"densenet121", 121, 7'978'856, 2.834},   // 121 is what the name counts
      {"inception_v3", 95, 23'834'568, 5.713},  // 27'161'264 with the auxiliary classifier
      {"mobilenet_v2", 53, 3'504'872, 0.301},
      {"resnet18", 18 + 3, 11'689'512, 1.814},  // the name leaves out the projections of shortcuts
      {"resnet50", 50 + 4, 25'557'032, 4.089},
      {"squeezenet1_1", 26, 1'235'496, 0.349},
  };
  for (const Published& expected : published) {
    const Model model = make(expected.network, 1);
    const auto layers = std::count_if(model.ops.begin(), model.ops.end(), is_weighted_layer);
    EXPECT_EQ(static_cast<std::size_t>(layers), expected.layers) << expected.network;
    EXPECT_EQ(parameter_count(model) - statistics_of(model), expected.parameters) << expected.network;
    EXPECT_NEAR(giga_multiply_adds(model), expected.giga_multiply_adds, 0.0006) << expected.network;
  }
}

TEST(Networks, RandwireHasAboutThePublishedSizeWhateverItsWiring) {
  for (const char* wiring : {"0", "1", "2"}) {
    const Model model = make("randwire", 1, {{"wiring", wiring}});
    const auto parameters = static_cast<double>(parameter_count(model) - statistics_of(model));
    EXPECT_NEAR(parameters, 5.6e6, 0.2e6) << wiring;
    EXPECT_NEAR(giga_multiply_adds(model), 0.583, 0.02) << wiring;
  }
}

TEST(Networks, RandwireIsWiredByItsSeed) {
  const auto edges = [](const char* wiring) {
    std::vector<std::vector<TensorId>> inputs;
    for (const Op& op : make("randwire", 1, {{"wiring", wiring}}).ops) inputs.push_back(op.inputs);
    return inputs;
  };
  EXPECT_EQ(edges("3"), edges("3"));
  EXPECT_NE(edges("3"), edges("4"));
}

TEST(Networks, GruHasTheParametersThatFollowFromItsGates) {
  // Three gates with two biases each, then a matrix product; PyTorch's GRU(128, 128) has 99'072.
  EXPECT_EQ(parameter_count(make("gru")), 99'072 + 128 * 128 + 128);
  const Model small = make("gru", 1, {{"inputs", "5"}, {"hidden", "7"}, {"classes", "3"}});
  EXPECT_EQ(parameter_count(small), 3 * (7 * 5 + 7 * 7 + 2 * 7) + 7 * 3 + 3);
  EXPECT_EQ(output_of(make("gru", 3), "fc"), (Shape{60, 128}));
}

TEST(Networks, EncoderHasThePublishedParametersOfBertTiny) {
  // 4'385'920 with the tables of 30'522 words, 512 positions and 2 segments, and the pooler.
  const std::int64_t tables = (30'522 + 512 + 2) * 128;
  const std::int64_t pooler = 128 * 128 + 128;
  EXPECT_EQ(parameter_count(make("encoder")), 4'385'920 - tables - pooler);
  // BERT-base, likewise: 109'482'240.
  const Model base = make("encoder", 1, {{"layers", "12"}, {"width", "768"}, {"heads", "12"}});
  EXPECT_EQ(parameter_count(base), 109'482'240 - (30'522 + 512 + 2) * 768 - (768 * 768 + 768));
}

TEST(Networks, EncoderMultipliesWhatAttentionMultiplies) {
  const Model model = make("encoder", 1, {{"layers", "1"}, {"tokens", "10"}, {"width", "8"}, {"heads", "2"}});
  EXPECT_EQ(output_of(model, "layer0.attention.scores"), (Shape{2, 10, 10}));
  EXPECT_EQ(output_of(model, "layer0.attention.context"), (Shape{2, 10, 4}));
  EXPECT_EQ(work_of(model, op_named(model, "layer0.attention.scores")).flops.value, 2 * 2 * 10 * 10 * 4);
  EXPECT_EQ(model.tensor(model.outputs[0]).shape, (Shape{1, 10, 8}));
}

TEST(Networks, InceptionShrinksTheImageToEightByEight) {
  const Model model = make("inception_v3");
  EXPECT_EQ(output_of(model, "mixed3.concat"), (Shape{2, 288, 35, 35}));
  EXPECT_EQ(output_of(model, "mixed8.concat"), (Shape{2, 768, 17, 17}));
  EXPECT_EQ(output_of(model, "mixed11.concat"), (Shape{2, 2048, 8, 8}));
}

TEST(Networks, DensenetGrowsByThirtyTwoChannelsALayer) {
  const Model model = make("densenet121");
  EXPECT_EQ(output_of(model, "block1.6.concat"), (Shape{2, 256, 56, 56}));
  EXPECT_EQ(output_of(model, "transition1.pool"), (Shape{2, 128, 28, 28}));
  EXPECT_EQ(output_of(model, "block4.16.concat"), (Shape{2, 1024, 7, 7}));
}

TEST(Networks, MobilenetAddsAroundBlocksThatKeepTheShape) {
  const Model model = make("mobilenet_v2");
  const auto additions = std::count_if(model.ops.begin(), model.ops.end(),
                                       [](const Op& op) { return std::holds_alternative<Binary>(op.attributes); });
  EXPECT_EQ(additions, 10);
  EXPECT_EQ(output_of(model, "block17.project.bn"), (Shape{2, 320, 7, 7}));
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
  EXPECT_THAT(message("encoder", 1, {{"width", "10"}, {"heads", "3"}}), HasSubstr("argument heads: must divide"));
  EXPECT_THAT(message("vgg", 1, {}), HasSubstr("known are alexnet, alexnet5, densenet121, encoder"));
}

}  // namespace
}  // namespace cohort
