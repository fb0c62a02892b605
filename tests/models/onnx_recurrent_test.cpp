#include <gmock/gmock.h>

#include <cmath>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Recurrent layers where the ONNX project's cases leave something open; ONNX Runtime's results decide.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

LoadedModel read(const std::string& graph) {
  Result<LoadedModel> loaded = onnx::parse_model(onnx_model(14, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *std::move(loaded) : LoadedModel{};
}

TEST(OnnxRecurrent, HasWorkForEveryGateOfBothDirections) {
  const std::string weights = floats_text("W", {2, 6, 3}, std::vector<float>(36, 0.1F)) +
                              floats_text("R", {2, 6, 2}, std::vector<float>(24, 0.1F));
  const LoadedModel loaded =
      read(input_text("x", {5, 4, 3}) + output_text("y") + weights +
           node_text("GRU", {"x", "W", "R"}, {"y"},
                     integer_attribute("hidden_size", 2) + text_attribute("direction", "bidirectional")));
  ASSERT_EQ(loaded.model.ops.size(), 1U);
  EXPECT_EQ(op_type(loaded.model.ops[0].attributes), "GRU");
  EXPECT_EQ(loaded.model.tensor(loaded.model.outputs[0]).shape, (Shape{5, 2, 4, 2}));
  // 5 steps, 2 directions, 4 samples, 2 units; 3 gates of 2*(3+2) for the products, 3 for biases and
  // function; 6 for the rest of a unit.
  EXPECT_EQ(work_of(loaded.model).flops.value, 5 * 2 * 4 * 2 * (3 * (2 * 5 + 3) + 6));
}

TEST(OnnxRecurrent, ClipsTheSumsOfTheGatesAndNotTheCell) {
  // One unit, one step, functions that pass sums on: input, output, forget and cell gates of 4, clipped to 2.
  const std::string functions =
      "attribute { name: \"activations\" type: STRINGS strings: \"Relu\" strings: \"Relu\" "
      "strings: \"Relu\" }";
  const LoadedModel loaded =
      read(input_text("x", {1, 1, 1}) + output_text("y") + floats_text("W", {1, 4, 1}, {4, 4, 4, 4}) +
           floats_text("R", {1, 4, 1}, {0, 0, 0, 0}) +
           node_text("LSTM", {"x", "W", "R"}, {"y"},
                     integer_attribute("hidden_size", 1) + float_attribute("clip", 2) + functions));
  const auto outputs = evaluate(loaded, {{1}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(outputs->front(), ElementsAre(8));  // 2 * (2 * 2)
}

TEST(OnnxRecurrent, ASampleWithoutStepsEndsWithZeros) {
  const std::string weights = floats_text("W", {1, 1, 1}, {1}) + floats_text("R", {1, 1, 1}, {1});
  const LoadedModel loaded = read(
      input_text("x", {2, 2, 1}) + output_text("last") + weights + narrow_text("lengths", {2}, 6, {0, 1}) +
      floats_text("first", {1, 2, 1}, {0.5F, 0.5F}) +
      node_text("RNN", {"x", "W", "R", "", "lengths", "first"}, {"", "last"}, integer_attribute("hidden_size", 1)));
  const auto outputs = evaluate(loaded, {{1, 1, 1, 1}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(outputs->front(), ElementsAre(0, FloatEq(std::tanh(1.5F))));
}

}  // namespace
}  // namespace cohort
