// What ONNX files say of training: losses, dropout, statistics of a minibatch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/file.hpp"
#include "models/compute/evaluate.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/training/differentiate.hpp"
#include "tests/models/onnx_text.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

/// An input of whole numbers, int64.
std::string labels_text(std::string_view name, const Shape& shape) {
  std::string text = input_text(name, shape);
  const std::string is_float = "elem_type: 1";
  return text.replace(text.find(is_float), is_float.size(), "elem_type: 7");
}

std::vector<float> whole(const std::vector<std::int32_t>& values) {
  std::vector<float> elements;
  for (const std::int32_t value : values) elements.push_back(std::bit_cast<float>(value));
  return elements;
}

Result<LoadedModel> read_for_training(const std::string& graph, int opset = 13) {
  onnx::ReadOptions options;
  options.for_training = true;
  return onnx::parse_model(onnx_model(opset, graph), options);
}

std::vector<float> loss_of(const std::string& node, const std::vector<std::int32_t>& labels,
                           const std::string& more = "") {
  const std::string graph = input_text("x", {3, 2}) + labels_text("t", {3}) + output_text("y") + more + node;
  const LoadedModel loaded = onnx::parse_model(onnx_model(13, graph), {}).value();
  const float a = std::log(0.25F), b = std::log(0.75F), c = std::log(0.5F);
  return reference::evaluate(loaded, {{a, b, b, a, c, c}, whole(labels)}).value()[0];
}

TEST(OnnxLoss, IsTheMeanOverSamplesThatCount) {
  const auto expect_losses = [](const char* type) {
    const auto node = [&](const std::string& attributes) { return node_text(type, {"x", "t"}, {"y"}, attributes); };
    const float a = -std::log(0.25F), b = -std::log(0.75F), c = -std::log(0.5F);
    EXPECT_THAT(loss_of(node(""), {0, 0, 1}), ElementsAre(FloatNear((a + b + c) / 3, 1e-6F))) << type;
    EXPECT_THAT(loss_of(node(text_attribute("reduction", "sum")), {1, 1, 1}), ElementsAre(FloatNear(a + b + c, 1e-6F)));
    EXPECT_THAT(loss_of(node(text_attribute("reduction", "none")), {0, 0, 0}), Pointwise(FloatNear(1e-6F), {a, b, c}));
    EXPECT_THAT(loss_of(node(integer_attribute("ignore_index", -1)), {0, -1, 1}),
                ElementsAre(FloatNear((a + c) / 2, 1e-6F)));
    const std::string weights = floats_text("w", {2}, {1, 3});
    EXPECT_THAT(loss_of(node_text(type, {"x", "t", "w"}, {"y"}), {0, 0, 1}, weights),
                ElementsAre(FloatNear((a + b + 3 * c) / 5, 1e-6F)));
  };
  expect_losses("SoftmaxCrossEntropyLoss");  // the rows are logarithms of probabilities already
  expect_losses("NegativeLogLikelihoodLoss");
}

TEST(OnnxLoss, IsWhatTrainingMinimises) {
  const std::string graph = input_text("x", {2, 3}) + labels_text("labels", {2}) + output_text("loss") +
                            floats_text("w", {3, 2}, {1, 0, 0, 1, 1, 1}) + node_text("MatMul", {"x", "w"}, {"z"}) +
                            node_text("SoftmaxCrossEntropyLoss", {"z", "labels"}, {"loss"});
  const auto training =
      differentiate(read_for_training(graph).value(), {LossKind::kModelOutput, optimizer_from("sgd").value(), false});
  ASSERT_TRUE(training) << training.error().message;
  const Model& model = training->loaded.model;
  ASSERT_EQ(training->parameters.size(), 1U);
  EXPECT_EQ(model.tensor(model.outputs[0]).name, "loss");
  std::vector<std::string> inputs;
  for (const TensorId id : model.inputs) inputs.push_back(model.tensor(id).name);
  EXPECT_THAT(inputs, ElementsAre("x", "labels", "settings"));
}

TEST(OnnxLoss, MayBeAMeanOfSquares) {
  const std::string graph = input_text("x", {2, 3}) + input_text("targets", {2, 2}) + output_text("loss") +
                            floats_text("w", {3, 2}, {1, 0, 0, 1, 1, 1}) + floats_text("two", {}, {2}) +
                            node_text("MatMul", {"x", "w"}, {"z"}) + node_text("Sub", {"z", "targets"}, {"error"}) +
                            node_text("Pow", {"error", "two"}, {"squares"}) +
                            node_text("ReduceMean", {"squares"}, {"loss"}, integer_attribute("keepdims", 0));
  const auto training =
      differentiate(read_for_training(graph).value(), {LossKind::kModelOutput, optimizer_from("sgd").value(), false});
  ASSERT_TRUE(training) << training.error().message;
  EXPECT_EQ(training->parameters.size(), 1U) << "the exponent is a number of the formula, not a weight";
}

const std::string kNormalisedAndDropped =
    input_text("x", {4, 2}) + output_text("y") + floats_text("scale", {2}, {1, 2}) + floats_text("shift", {2}, {0, 1}) +
    floats_text("mean", {2}, {0.5F, 0}) + floats_text("variance", {2}, {1, 2}) +
    node_text("BatchNormalization", {"x", "scale", "shift", "mean", "variance"}, {"n", "m", "v"},
              integer_attribute("training_mode", 1) + float_attribute("momentum", 0.75F));

TEST(OnnxTraining, KeepsDropoutAndRunningStatistics) {
  const std::string graph =
      kNormalisedAndDropped + floats_text("ratio", {}, {0.5F}) + node_text("Dropout", {"n", "ratio"}, {"y"});
  const LoadedModel inference = read_for_training(graph, 15).value();
  ASSERT_EQ(inference.model.ops.size(), 2U);
  const auto& normalization = std::get<BatchNormalization>(inference.model.ops[0].attributes);
  EXPECT_FLOAT_EQ(normalization.momentum, 0.25F);
  EXPECT_TRUE(std::holds_alternative<Dropout>(inference.model.ops[1].attributes));
  const auto training = differentiate(inference, {LossKind::kCrossEntropy, optimizer_from("sgd").value(), false});
  ASSERT_TRUE(training) << training.error().message;
  EXPECT_EQ(training->parameters.size(), 2U);
  EXPECT_EQ(training->statistics.size(), 2U);

  // A file of it is read as the same network, for training and for inference.
  const std::string bytes = onnx::serialize_model(inference).value();
  onnx::ReadOptions options;
  options.for_training = true;
  const LoadedModel again = onnx::parse_model(bytes, options).value();
  ASSERT_EQ(again.model.ops.size(), 2U);
  EXPECT_EQ(again.model.ops[0].attributes, inference.model.ops[0].attributes);
  EXPECT_EQ(*again.weights.of(again.model.ops[1].inputs[1]), std::vector<float>{0.5F});
  EXPECT_EQ(simplify(onnx::parse_model(bytes, {}).value()).model.ops.size(), 1U);
}

TEST(OnnxTraining, RefusesARateThatNoDropoutHas) {
  const auto read = read_for_training(
      kNormalisedAndDropped + floats_text("ratio", {}, {1.0F}) + node_text("Dropout", {"n", "ratio"}, {"y"}), 15);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("ratio must be at least 0 and below 1, not 1"));
}

TEST(OnnxTraining, ChangesInitialisersNotConstants) {
  const std::string constant =
      node_text("Constant", {}, {"c"},
                R"(attribute { name: "value" type: TENSOR t { dims: 2 data_type: 1 float_data: 1 float_data: 2 } })");
  const std::string graph = input_text("x", {3, 2}) + output_text("y") + floats_text("w", {2, 2}, {1, 2, 3, 4}) +
                            constant + node_text("Transpose", {"w"}, {"t"}) + node_text("MatMul", {"x", "t"}, {"z"}) +
                            node_text("Mul", {"z", "c"}, {"y"});
  const auto training = differentiate(read_for_training(graph).value(), {});
  ASSERT_TRUE(training) << training.error().message;
  ASSERT_EQ(training->parameters.size(), 1U);
  EXPECT_EQ(training->parameters[0].name, "t") << "computed of the initialiser";
}

/// From a file to trained values, to a file again.
TEST(OnnxTraining, ExportsWhatWasTrained) {
  const TemporaryFolder folder;
  LoadedModel network;
  network.model = make_network("mlp", 2, {{"inputs", "4"}, {"hidden", "3"}, {"layers", "1"}, {"classes", "2"}}).value();
  network.weights = random_weights(network.model, 1);
  const std::string path = (folder.path() / "mlp.onnx").string();
  ASSERT_TRUE(write_file(path, onnx::serialize_model(network).value(), Overwrite::kNever));
  ModelSource source{path, {}, 2};
  source.training = TrainingSpec{LossKind::kCrossEntropy, optimizer_from("adam").value(), false};
  const LoadedModel step = onnx::load(source, 0).value();
  EXPECT_TRUE(updates_state(step.model.ops.back()));

  const LoadedModel inference = onnx::load_network(source, 0).value();
  const TrainingModel training = differentiate(inference, *source.training).value();
  std::vector<float> state = *training.loaded.weights.of(training.loaded.model.ops.back().inputs[0]);
  for (float& value : state) value += 0.5F;
  const LoadedModel trained{inference.model, trained_weights(inference, training, state, {})};
  const LoadedModel again = onnx::parse_model(onnx::serialize_model(trained).value(), {}).value();
  const std::vector<std::vector<float>> data{{1, 2, 3, 4, -1, 0, 1, 0}};
  const auto expected = reference::evaluate(trained, data).value();
  const auto found = reference::evaluate(again, data).value();
  EXPECT_THAT(found[0], Pointwise(FloatNear(1e-5F), expected[0]));
  EXPECT_NE(found[0], reference::evaluate(inference, data).value()[0]);
}

}  // namespace
}  // namespace cohort
