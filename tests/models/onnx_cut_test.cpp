#include <gmock/gmock.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Models of which only a part is computed: up to tensors that are named.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// boxes = -x, scores = exp(x) * scale, and behind them an op that is not supported, with a limit of its own.
std::string detector() {
  return onnx_model(17, input_text("x", {2}) + input_text("limit", {1}) + output_text("y") +
                            floats_text("scale", {}, {2}) + floats_text("unread", {3}, {1, 2, 3}) +
                            node_text("Neg", {"x"}, {"boxes"}) + node_text("Exp", {"x"}, {"e"}) +
                            node_text("Mul", {"e", "scale"}, {"scores"}) +
                            node_text("NonMaxSuppression", {"boxes", "scores", "limit"}, {"kept"}) +
                            node_text("Gather", {"boxes", "kept"}, {"y"}));
}

onnx::ReadOptions until(std::vector<std::string> names) {
  onnx::ReadOptions options;
  options.until = std::move(names);
  return options;
}

std::string problem_of(const std::string& bytes, const onnx::ReadOptions& options = {}) {
  const auto loaded = onnx::parse_model(bytes, options);
  return loaded ? std::string("read") : loaded.error().message;
}

std::vector<std::string> names_of(const Model& model, const std::vector<TensorId>& tensors) {
  std::vector<std::string> names;
  for (const TensorId id : tensors) names.push_back(model.tensor(id).name);
  return names;
}

TEST(OnnxCut, ComputesTheTensorsInTheirOrderAndLeavesOutWhatTheyDoNotNeed) {
  const auto loaded = onnx::parse_model(detector(), until({"scores", "boxes"}));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(names_of(loaded->model, loaded->model.outputs), ElementsAre("scores", "boxes"));
  EXPECT_THAT(names_of(loaded->model, loaded->model.inputs), ElementsAre("x"));
  const auto outputs = evaluate(*loaded, {{0, 1}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT((*outputs)[0], ElementsAre(2, testing::FloatNear(5.436564F, 1e-5F)));
  EXPECT_THAT((*outputs)[1], ElementsAre(0, -1));
}

TEST(OnnxCut, AnOutputMayBeComputedFromAnother) {
  const auto loaded = onnx::parse_model(detector(), until({"e", "scores"}));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto outputs = evaluate(simplify(*loaded), {{0, 0}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT((*outputs)[0], ElementsAre(1, 1));
  EXPECT_THAT((*outputs)[1], ElementsAre(2, 2));
}

TEST(OnnxCut, WhatIsNotSupportedComesWithTheTensorsBeforeIt) {
  EXPECT_EQ(problem_of(detector()),
            "an op is not supported: node n_kept (NonMaxSuppression, opset 17); or, to compute only what comes before: "
            "--until boxes --until scores");
  // An output that is computed in any case; an input or a constant is none.
  EXPECT_THAT(problem_of(onnx_model(17, input_text("x", {2}) + output_text("y") + output_text("z") +
                                            node_text("NonZero", {"x"}, {"y"}) + node_text("Exp", {"x"}, {"z"}))),
              EndsWith("; or, to compute only what comes before: --until z"));
  EXPECT_THAT(problem_of(onnx_model(17, input_text("x", {2}) + output_text("y") + node_text("NonZero", {"x"}, {"y"}))),
              Not(HasSubstr("--until")));
}

TEST(OnnxCut, OfManyTensorsThoseThatTheyComeFromAreNamed) {
  const auto problem_with = [](std::string_view source, std::string_view before) {
    std::string graph = input_text("x", {2}) + output_text("y0") + std::string(before);
    for (int i = 0; i < 9; ++i) {
      const std::string e = fmt::format("e{}", i);
      graph += node_text("Exp", {std::string(source)}, {e}) + node_text("NonZero", {e}, {fmt::format("y{}", i)});
    }
    return problem_of(onnx_model(17, graph));
  };
  EXPECT_THAT(problem_with("scores", node_text("Neg", {"x"}, {"scores"})),
              EndsWith("; or, to compute only what comes before: --until scores"));
  EXPECT_THAT(problem_with("x", ""), Not(HasSubstr("--until")));
}

TEST(OnnxCut, WhatIsSetOfInputsThatAreLeftOutIsNoMistake) {
  const std::string model = onnx_model(17, input_text("x", {2}) + input_text("sizes", {1, -1}) + output_text("y") +
                                               node_text("Neg", {"x"}, {"boxes"}) +
                                               node_text("NonMaxSuppression", {"boxes", "sizes"}, {"y"}));
  onnx::ReadOptions options = until({"boxes"});
  options.dims = {{"sizes:1", 3}};
  EXPECT_EQ(problem_of(model, options), "read");
  options.dims = {{"size:1", 3}};
  EXPECT_THAT(problem_of(model, options), HasSubstr("no input has an open dimension called size:1"));
}

TEST(OnnxCut, NamesATensorThatNothingWrites) {
  EXPECT_EQ(problem_of(detector(), until({"boxs"})),
            "--until boxs: no node writes a tensor of that name; did you mean \"boxes\"?");
  EXPECT_EQ(problem_of(detector(), until({"limit"})),
            "--until limit: it is an input; no node writes a tensor of that name");
}

}  // namespace
}  // namespace cohort
