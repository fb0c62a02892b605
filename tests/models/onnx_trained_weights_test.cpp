// Which tensors of an ONNX file training changes: each weight once, however many nodes read it and compute with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/onnx_text.hpp"
#include "tests/models/training/step.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::string weight_text(std::string_view name, const Shape& shape) {
  Random random(static_cast<std::uint64_t>(name.front()));
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) value = random.uniform(-1, 1);
  return floats_text(name, shape, values);
}

Result<TrainingModel> training_of(const std::string& graph, int opset = 13) {
  onnx::ReadOptions options;
  options.for_training = true;
  COHORT_TRY(const LoadedModel network, onnx::parse_model(onnx_model(opset, graph + output_text("y")), options));
  return differentiate(network, {LossKind::kMeanSquaredError, {}, false});
}

/// The names of what is trained, once its gradient is the slope of the loss.
std::vector<std::string> trained(const std::string& graph, int opset = 13) {
  const auto training = training_of(graph, opset);
  EXPECT_TRUE(training) << training.error().message;
  if (!training) return {};
  const GradientCheck check = check_gradient(ReferenceTraining(*training, 1), 3, 7);
  EXPECT_GE(check.counted, 1);
  EXPECT_LT(check.worst, 1e-2);
  std::vector<std::string> names;
  for (const PackedTensor& parameter : training->parameters) names.push_back(parameter.name);
  return names;
}

std::string permuted(std::string_view from, std::string_view to) {
  return node_text("Transpose", {std::string(from)}, {std::string(to)}, integers_attribute("perm", {1, 0}));
}

const std::string kX = input_text("x", {2, 3});
const std::string kSquare =
    kX + weight_text("w", {3, 3}) + node_text("MatMul", {"x", "w"}, {"a"}) + node_text("Tanh", {"a"}, {"b"});

TEST(OnnxTrainedWeights, AreOneWhereLayersShareThem) {
  EXPECT_THAT(trained(kSquare + node_text("MatMul", {"b", "w"}, {"y"})), ElementsAre("w"));
  EXPECT_THAT(trained(kSquare + permuted("w", "t") + node_text("MatMul", {"b", "t"}, {"y"})), ElementsAre("w"));
}

TEST(OnnxTrainedWeights, AreOneWhereLayersReadThemInTheirOwnWays) {
  const std::string square = input_text("x", {3, 3}) + weight_text("w", {3, 3});
  const std::string first = square + node_text("MatMul", {"x", "w"}, {"a"}) + node_text("Tanh", {"a"}, {"b"});
  EXPECT_THAT(trained(first + node_text("Mul", {"b", "w"}, {"y"})), ElementsAre("w"));
  EXPECT_THAT(trained(first + node_text("MatMul", {"w", "b"}, {"y"})), ElementsAre("w"));
  EXPECT_THAT(trained(first + node_text("Gemm", {"b", "w"}, {"y"}, integer_attribute("transB", 1))), ElementsAre("w"));
}

TEST(OnnxTrainedWeights, OfTablesMayBeThoseOfTheLastLayer) {
  EXPECT_THAT(trained(input_text("x", {2, 4}) + weight_text("e", {5, 4}) + weight_text("w", {4, 4}) +
                      integers_text("rows", {2}, {1, 3}) + node_text("Gather", {"e", "rows"}, {"g"}) +
                      node_text("Mul", {"x", "g"}, {"h"}) + node_text("MatMul", {"h", "w"}, {"z"}) +
                      permuted("e", "t") + node_text("MatMul", {"z", "t"}, {"y"})),
              UnorderedElementsAre("e", "w"));
}

TEST(OnnxTrainedWeights, KeepTheLayoutOfTheOnlyLayerThatReadsThem) {
  const auto training =
      training_of(kX + weight_text("w", {4, 3}) + permuted("w", "t") + node_text("MatMul", {"x", "t"}, {"y"}));
  ASSERT_TRUE(training) << training.error().message;
  ASSERT_EQ(training->parameters.size(), 1U);
  EXPECT_EQ(training->parameters[0].name, "t");
  bool transposes = false;
  for (const Op& op : training->loaded.model.ops)
    transposes = transposes || std::holds_alternative<Transpose>(op.attributes);
  EXPECT_FALSE(transposes);
}

TEST(OnnxTrainedWeights, AreWhatFormulasAreComputedOf) {
  const std::string token = input_text("x", {2, 3, 4}) + weight_text("p", {1, 1, 4}) +
                            integers_text("shape", {3}, {2, 1, 4}) + node_text("Expand", {"p", "shape"}, {"e"}) +
                            node_text("Concat", {"e", "x"}, {"y"}, integer_attribute("axis", 1));
  EXPECT_THAT(trained(token), ElementsAre("p"));
  const std::string scaled = kX + weight_text("w", {3, 3}) + weight_text("g", {1, 3}) +
                             node_text("Mul", {"w", "g"}, {"v"}) + node_text("MatMul", {"x", "v"}, {"y"});
  EXPECT_THAT(trained(scaled), UnorderedElementsAre("w", "g"));
  EXPECT_THAT(trained(kX + weight_text("w", {3, 3}) + permuted("w", "t") + node_text("MatMul", {"w", "t"}, {"v"}) +
                      node_text("MatMul", {"x", "v"}, {"y"})),
              ElementsAre("w"));
}

TEST(OnnxTrainedWeights, MayBeJoinedAndCutBeforehand) {
  const std::string parts = kX + weight_text("w", {3, 4}) + integers_text("sizes", {2}, {1, 3}) +
                            node_text("Split", {"w", "sizes"}, {"a", "b"}, integer_attribute("axis", 1)) +
                            node_text("MatMul", {"x", "a"}, {"c"}) + node_text("MatMul", {"x", "b"}, {"d"});
  EXPECT_THAT(trained(parts + node_text("Mul", {"c", "d"}, {"y"})), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(trained(parts + node_text("Mul", {"c", "d"}, {"e"}) + permuted("w", "t") +
                      node_text("Concat", {"c", "e"}, {"g"}, integer_attribute("axis", 1)) +
                      node_text("MatMul", {"g", "t"}, {"y"})),
              ElementsAre("w"));
  const std::string halves = kX + weight_text("w", {3, 6}) +
                             node_text("Split", {"w"}, {"a", "b"}, integer_attribute("axis", 1)) +
                             node_text("MatMul", {"x", "a"}, {"c"}) + node_text("MatMul", {"c", "b"}, {"d"});
  EXPECT_THAT(trained(halves + permuted("a", "t") + node_text("MatMul", {"d", "t"}, {"y"})), ElementsAre("w"));
  EXPECT_THAT(trained(halves + node_text("Identity", {"d"}, {"y"})), UnorderedElementsAre("a", "b"));
  const std::string joined = kX + weight_text("v", {3, 1}) + weight_text("w", {3, 2}) +
                             node_text("Concat", {"v", "w"}, {"j"}, integer_attribute("axis", 1)) +
                             node_text("MatMul", {"x", "j"}, {"z"});
  EXPECT_THAT(trained(joined + node_text("Tanh", {"z"}, {"y"})), ElementsAre("j"));
  EXPECT_THAT(trained(joined + node_text("MatMul", {"z", "w"}, {"y"})), UnorderedElementsAre("v", "w"));
}

TEST(OnnxTrainedWeights, AreTakenTimesTheFactorsOfAGemm) {
  const std::string factors = float_attribute("alpha", 0.5F) + float_attribute("beta", 3);
  const std::string layer = kX + weight_text("w", {3, 4});
  EXPECT_THAT(trained(layer + weight_text("c", {4}) + node_text("Gemm", {"x", "w", "c"}, {"y"}, factors)),
              UnorderedElementsAre("w", "c"));
  const auto one = training_of(layer + weight_text("c", {1}) + node_text("Gemm", {"x", "w", "c"}, {"y"}));
  ASSERT_TRUE(one) << one.error().message;
  for (const PackedTensor& parameter : one->parameters) {
    EXPECT_EQ(element_count(parameter.shape), parameter.name == "w" ? 12 : 1) << parameter.name;
  }
}

TEST(OnnxTrainedWeights, OfLstmsAreBothBiasesOrNone) {
  const std::string layer = input_text("x", {3, 2, 2}) + weight_text("w", {1, 8, 2}) + weight_text("r", {1, 8, 2});
  const std::string hidden = integer_attribute("hidden_size", 2);
  const std::string bias = weight_text("b", {1, 16});
  const auto both = training_of(layer + bias + node_text("LSTM", {"x", "w", "r", "b"}, {"y"}, hidden));
  ASSERT_TRUE(both) << both.error().message;
  std::int64_t numbers = 0;
  for (const PackedTensor& parameter : both->parameters) numbers += element_count(parameter.shape);
  EXPECT_EQ(numbers, 16 + 16 + 16);
  EXPECT_THAT(trained(layer + bias + node_text("LSTM", {"x", "w", "r", "b"}, {"y"}, hidden)),
              UnorderedElementsAre("w", "r", "b"));
  EXPECT_THAT(trained(layer + node_text("LSTM", {"x", "w", "r"}, {"y"}, hidden)), UnorderedElementsAre("w", "r"));
}

TEST(OnnxTrainedWeights, AreNoWholeNumbersAndNoShapes) {
  const std::string layer = kX + weight_text("w", {3, 2}) + node_text("MatMul", {"x", "w"}, {"z"});
  EXPECT_THAT(
      trained(layer + integers_text("k", {2}, {3, 5}) + node_text("Cast", {"k"}, {"f"}, integer_attribute("to", 1)) +
              node_text("Mul", {"z", "f"}, {"y"})),
      ElementsAre("w"));
  EXPECT_THAT(
      trained(layer + node_text("Shape", {"w"}, {"s"}) + node_text("Cast", {"s"}, {"f"}, integer_attribute("to", 1)) +
              node_text("Mul", {"z", "f"}, {"y"})),
      ElementsAre("w"));
}

TEST(OnnxTrainedWeights, ThatABranchReadsInTwoWaysAreRefused) {
  const std::string inner = R"(attribute { name: "then_branch" type: GRAPH g { name: "t" output { name: "r" }
      initializer { name: "v" dims: 2 dims: 2 data_type: 1 float_data: 1 float_data: 2 float_data: 3 float_data: 4 }
      node { op_type: "MatMul" input: "z" input: "v" output: "p" } node { op_type: "Mul" input: "p" input: "v" output: "r" } } }
    attribute { name: "else_branch" type: GRAPH g { name: "e" output { name: "q" }
      node { op_type: "Identity" input: "z" output: "q" } } })";
  const auto training = training_of(input_text("x", {2, 3}) + weight_text("w", {3, 2}) + integers_text("k", {1}, {1}) +
                                    node_text("Cast", {"k"}, {"c"}, integer_attribute("to", 9)) +
                                    node_text("MatMul", {"x", "w"}, {"z"}) + node_text("If", {"c"}, {"y"}, inner));
  ASSERT_FALSE(training);
  EXPECT_THAT(training.error().message, HasSubstr("weights of a branch"));
}

}  // namespace
}  // namespace cohort
