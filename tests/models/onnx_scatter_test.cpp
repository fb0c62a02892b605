#include <gmock/gmock.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Elements of one tensor written into another; the ONNX project's cases have the shapes, here are the rules.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// ScatterElements of `updates`, an input, into x, the other.
std::string scatter(const Shape& x, const Shape& indices_shape, const std::vector<std::int64_t>& indices,
                    const std::string& attributes, std::string_view op = "ScatterElements",
                    const Shape& updates_shape = {}) {
  return input_text("x", x) + input_text("u", updates_shape.empty() ? indices_shape : updates_shape) +
         output_text("y") + integers_text("i", indices_shape, indices) +
         node_text(op, {"x", "i", "u"}, {"y"}, attributes);
}

std::vector<float> result(const std::string& graph, const std::vector<float>& x, const std::vector<float>& updates) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(simplify(*loaded), {x, updates});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, graph), {});
  return loaded ? std::string("read") : loaded.error().message;
}

TEST(OnnxScatter, WritesElementsAlongAnAxisCountedFromEitherEnd) {
  EXPECT_THAT(result(scatter({2, 3}, {2, 2}, {2, 0, -2, -1}, integer_attribute("axis", 1)), {1, 2, 3, 4, 5, 6},
                     {10, 20, 30, 40}),
              ElementsAre(20, 2, 10, 4, 30, 40));
  EXPECT_THAT(result(scatter({3, 2}, {1, 2}, {2, 0}, ""), {1, 2, 3, 4, 5, 6}, {10, 20}),
              ElementsAre(1, 20, 3, 4, 10, 6));
}

TEST(OnnxScatter, TheLastOfSeveralUpdatesStays) {
  EXPECT_THAT(result(scatter({3}, {3}, {1, 0, 1}, ""), {1, 2, 3}, {10, 20, 30}), ElementsAre(20, 30, 3));
}

TEST(OnnxScatter, CombinesEveryUpdateOfAnElementWithIt) {
  const auto combined = [&](const char* reduction) {
    return result(scatter({3}, {4}, {1, 0, 1, 1}, text_attribute("reduction", reduction)), {1, 2, 3}, {10, -4, 3, 0.5});
  };
  EXPECT_THAT(combined("add"), ElementsAre(-3, 15.5, 3));
  EXPECT_THAT(combined("mul"), ElementsAre(-4, 30, 3));
  EXPECT_THAT(combined("max"), ElementsAre(1, 10, 3));
  EXPECT_THAT(combined("min"), ElementsAre(-4, 0.5, 3));
}

TEST(OnnxScatter, WritesSlicesAndSingleElements) {
  EXPECT_THAT(result(scatter({3, 2}, {2, 1}, {2, 0}, "", "ScatterND", {2, 2}), {1, 2, 3, 4, 5, 6}, {10, 20, 30, 40}),
              ElementsAre(30, 40, 3, 4, 10, 20));
  EXPECT_THAT(result(scatter({3, 2}, {2, 2}, {1, -1, 2, 0}, "", "ScatterND", {2}), {1, 2, 3, 4, 5, 6}, {10, 20}),
              ElementsAre(1, 2, 3, 10, 20, 6));
}

TEST(OnnxScatter, OfConstantsIsAConstant) {
  const std::string graph = input_text("x", {3}) + output_text("y") + floats_text("c", {3}, {0, 0, 0}) +
                            integers_text("i", {1}, {1}) + floats_text("u", {1}, {5}) +
                            node_text("ScatterElements", {"c", "i", "u"}, {"s"}) + node_text("Mul", {"x", "s"}, {"y"});
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, graph), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->model.ops.size(), 1U);
}

TEST(OnnxScatter, RefusesWhatItCannotWrite) {
  EXPECT_THAT(problem(scatter({3}, {1}, {3}, "")), HasSubstr("index 3 is not from -3 to 2"));
  EXPECT_THAT(problem(scatter({3, 2}, {1, 3}, {0, 0, 0}, "")),
              HasSubstr("indices [1, 3] and updates [1, 3] do not fit into [3, 2]"));
  EXPECT_THAT(problem(scatter({3, 2}, {1, 3}, {0, 0, 0}, "", "ScatterND", {1})),
              HasSubstr("indices [1, 3] and updates [1] do not fit into [3, 2]"));
  EXPECT_THAT(problem(scatter({1}, {17}, std::vector<std::int64_t>(17, 0), text_attribute("reduction", "add"))),
              HasSubstr("more than 16 updates of one element are not supported"));
  EXPECT_THAT(problem(scatter({1}, {1}, {0}, text_attribute("reduction", "mean"))),
              HasSubstr("attribute reduction must be none, add, mul, max or min, not mean"));
  EXPECT_THAT(problem(input_text("x", {2}) + output_text("y") + node_text("ArgMax", {"x"}, {"i"}) +
                      node_text("ScatterElements", {"x", "i", "x"}, {"y"})),
              HasSubstr("do not fit"));
  EXPECT_THAT(problem(input_text("x", {2}) + input_text("u", {1}) + output_text("y") +
                      node_text("ArgMax", {"x"}, {"i"}) + node_text("ScatterElements", {"x", "i", "u"}, {"y"})),
              HasSubstr("input i (indices) is not constant, which is not supported"));
}

}  // namespace
}  // namespace cohort
