#include <gmock/gmock.h>

#include <random>

#include "executor/device_error.hpp"
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
  EXPECT_THAT(problem(scatter({3}, {1}, {3}, "")), HasSubstr("index 3 is outside of 3 entries"));
  EXPECT_THAT(problem(scatter({3, 2}, {1, 3}, {0, 0, 0}, "")),
              HasSubstr("indices [1, 3] and updates [1, 3] do not fit into [3, 2]"));
  EXPECT_THAT(problem(scatter({3, 2}, {1, 3}, {0, 0, 0}, "", "ScatterND", {1})),
              HasSubstr("indices [1, 3] and updates [1] do not fit into [3, 2]"));
  EXPECT_THAT(problem(scatter({3, 2}, {1, 2}, {-4, 0}, "", "ScatterND", {1})),
              HasSubstr("index -4 is outside of 3 entries"));
  EXPECT_THAT(problem(scatter({1}, {1}, {0}, text_attribute("reduction", "mean"))),
              HasSubstr("attribute reduction must be none, add, mul, max or min, not mean"));
  EXPECT_THAT(problem(input_text("x", {2}) + output_text("y") + node_text("ArgMax", {"x"}, {"i"}) +
                      node_text("ScatterElements", {"x", "i", "x"}, {"y"})),
              HasSubstr("do not fit"));
}

/// The same with indices that are computed in the step, from a third input.
std::vector<float> result_of_computed(const std::string& attributes, std::string_view op, const Shape& x_shape,
                                      const Shape& indices_shape, const Shape& updates_shape,
                                      const std::vector<std::vector<float>>& x_updates_indices) {
  const std::string graph = input_text("x", x_shape) + input_text("u", updates_shape) + input_text("f", indices_shape) +
                            output_text("y") + node_text("Cast", {"f"}, {"i"}, integer_attribute("to", 7)) +
                            node_text(op, {"x", "i", "u"}, {"y"}, attributes);
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(simplify(*loaded), x_updates_indices);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

struct ScatterCase {
  std::string_view op;
  Shape x, indices, updates;
  std::vector<std::int64_t> most;  ///< of each entry of the last axis of the indices
  std::string attributes;
};

TEST(OnnxScatter, GivesTheSameWithComputedIndicesAsWithConstantOnes) {
  std::mt19937 random(7);
  const std::vector<ScatterCase> cases = {
      {"ScatterElements", {2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {3}, integer_attribute("axis", 1)},
      {"ScatterElements", {4}, {6}, {6}, {4}, ""},
      {"ScatterElements", {3, 2}, {3, 1}, {3, 1}, {2}, integer_attribute("axis", -1)},
      {"ScatterElements", {4, 3, 2}, {2, 5, 1}, {2, 5, 1}, {3}, integer_attribute("axis", 1)},
      {"ScatterND", {5, 3}, {4, 1}, {4, 3}, {5}, ""},
      {"ScatterND", {3, 4, 2}, {2, 3, 2}, {2, 3, 2}, {3, 4}, ""},
      {"ScatterND", {2, 3}, {4, 2}, {4}, {2, 3}, ""}};
  for (const ScatterCase& each : cases) {
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
      SCOPED_TRACE(fmt::format("{} {} of {}", each.op, reduction, to_string(each.x)));
      const auto numbers = [&](const Shape& shape) {
        std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
        for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 64) - 32) / 8;
        return values;
      };
      const std::vector<float> x = numbers(each.x), updates = numbers(each.updates);
      std::vector<std::int64_t> indices(static_cast<std::size_t>(element_count(each.indices)));
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::int64_t most = each.most[i % each.most.size()];
        indices[i] = static_cast<std::int64_t>(random() % static_cast<unsigned>(2 * most)) - most;
      }
      const std::string attributes = each.attributes + text_attribute("reduction", reduction);
      const auto loaded = onnx::parse_model(
          onnx_model(18, scatter(each.x, each.indices, indices, attributes, each.op, each.updates)), {});
      ASSERT_TRUE(loaded) << loaded.error().message;
      const auto written = onnx::serialize_model(*loaded);
      ASSERT_TRUE(written) << written.error().message;
      const auto read = onnx::parse_model(*written, {});
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(evaluate(*read, {x, updates}).value(), evaluate(*loaded, {x, updates}).value());
      EXPECT_EQ(result_of_computed(attributes, each.op, each.x, each.indices, each.updates,
                                   {x, updates, std::vector<float>(indices.begin(), indices.end())}),
                result(scatter(each.x, each.indices, indices, attributes, each.op, each.updates), x, updates));
    }
  }
}

TEST(OnnxScatter, StopsAtAComputedIndexOutsideOfItsAxis) {
  for (const std::string_view op : {"ScatterElements", "ScatterND"}) {
    const Shape updates = op == "ScatterND" ? Shape{1} : Shape{1, 2};
    const std::string graph = input_text("x", {2, 2}) + input_text("u", updates) + input_text("f", {1, 2}) +
                              output_text("y") + node_text("Cast", {"f"}, {"i"}, integer_attribute("to", 7)) +
                              node_text(op, {"x", "i", "u"}, {"y"});
    const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, graph), {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const std::vector<float> values(static_cast<std::size_t>(element_count(updates)), 7.0F);
    EXPECT_TRUE(evaluate(*loaded, {{1, 2, 3, 4}, values, {-2, 1}}));
    EXPECT_THROW((void)evaluate(*loaded, {{1, 2, 3, 4}, values, {0, 2}}), DeviceError);
    EXPECT_THROW((void)evaluate(*loaded, {{1, 2, 3, 4}, values, {-3, 1}}), DeviceError);
  }
}

/// As exporters of graph networks write sums over edges.
TEST(OnnxScatter, KeepsIndicesNarrowThatWereWidened) {
  const std::string data = input_text("x", {3, 2}) + input_text("u", {4, 2}) + input_text("f", {4}) + output_text("y");
  const std::string widened = node_text("Cast", {"f"}, {"i"}, integer_attribute("to", 7)) +
                              integers_text("one", {1}, {1}) + integers_text("shape", {2}, {4, 2}) +
                              node_text("Unsqueeze", {"i", "one"}, {"column"}) +
                              node_text("Expand", {"column", "shape"}, {"wide"});
  const std::string constant = integers_text("wide", {4, 2}, {2, 2, 0, 0, 2, 2, -2, -2});
  const std::string sum = node_text("ScatterElements", {"x", "wide", "u"}, {"y"}, text_attribute("reduction", "add"));
  for (const std::string& indices : {widened, constant}) {
    const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(18, data + indices + sum), {});
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto outputs = evaluate(*loaded, {{1, 2, 3, 4, 5, 6}, {1, 10, 2, 20, 3, 30, 4, 40}, {2, 0, 2, -2}});
    ASSERT_TRUE(outputs) << outputs.error().message;
    EXPECT_THAT(outputs->front(), ElementsAre(3, 22, 7, 44, 9, 46));
    const auto scatter = std::ranges::find_if(
        loaded->model.ops, [](const Op& op) { return std::holds_alternative<Scatter>(op.attributes); });
    ASSERT_NE(scatter, loaded->model.ops.end());
    EXPECT_EQ(loaded->model.tensor(scatter->inputs[1]).shape, (Shape{1, 4, 1}));
  }
}

TEST(OnnxScatter, CombinesWholeNumbersAndManyUpdates) {
  const std::string graph = input_text("x", {2}) + input_text("u", {20}) + output_text("y") +
                            node_text("Cast", {"x"}, {"a"}, integer_attribute("to", 7)) +
                            node_text("Cast", {"u"}, {"b"}, integer_attribute("to", 7)) +
                            integers_text("i", {20}, std::vector<std::int64_t>(20, 1)) +
                            node_text("ScatterElements", {"a", "i", "b"}, {"s"}, text_attribute("reduction", "add")) +
                            node_text("Cast", {"s"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(result(graph, {1, 2}, std::vector<float>(20, 3)), ElementsAre(1, 62));
}

/// x [1, 1, 2, 2] and indices that are computed.
std::string unpool(const std::string& attributes, std::string_view shape = "") {
  const bool is_given = !shape.empty();
  return input_text("x", {1, 1, 2, 2}) + input_text("f", {1, 1, 2, 2}) + output_text("y") +
         node_text("Cast", {"f"}, {"i"}, integer_attribute("to", 7)) +
         (is_given ? integers_text("shape", {4}, {1, 1, 5, 5}) : "") +
         node_text("MaxUnpool",
                   is_given ? std::vector<std::string>{"x", "i", "shape"} : std::vector<std::string>{"x", "i"}, {"y"},
                   attributes);
}

TEST(OnnxScatter, PutsMaximaBackWhereTheyWere) {
  const std::string two = integers_attribute("kernel_shape", {2, 2}) + integers_attribute("strides", {2, 2});
  EXPECT_THAT(result(unpool(two), {1, 2, 3, 4}, {5, 7, 8, 15}),
              ElementsAre(0, 0, 0, 0, 0, 1, 0, 2, 3, 0, 0, 0, 0, 0, 0, 4));
  const std::vector<float> larger = result(unpool(two, "larger"), {1, 2, 3, 4}, {5, 7, 8, 15});
  ASSERT_EQ(larger.size(), 25U);
  EXPECT_THAT(std::vector<float>(larger.begin() + 5, larger.begin() + 20),
              ElementsAre(0, 1, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0));
  const std::string padded = integers_attribute("kernel_shape", {3, 3}) + integers_attribute("strides", {2, 2}) +
                             integers_attribute("pads", {1, 1, 1, 1});
  EXPECT_THAT(result(unpool(padded), {1, 2, 3, 4}, {0, 2, 4, 8}), ElementsAre(1, 0, 2, 0, 3, 0, 0, 0, 4));
  const std::string line = input_text("x", {1, 2, 2}) + input_text("u", {1}) + output_text("y") +
                           integers_text("i", {1, 2, 2}, {1, 3, 4, 11}) +
                           node_text("MaxUnpool", {"x", "i"}, {"y"},
                                     integers_attribute("kernel_shape", {3}) + integers_attribute("strides", {3}));
  EXPECT_THAT(result(line, {1, 2, 3, 4}, {0}), ElementsAre(0, 1, 0, 2, 3, 0, 0, 0, 0, 0, 0, 4));
  EXPECT_THAT(problem(unpool(integers_attribute("kernel_shape", {6, 6}), "smaller")),
              HasSubstr("output_shape [1, 1, 5, 5] must not be less than [1, 1, 7, 7]"));
}

/// Two samples with two heads, caches of four entries.
TEST(OnnxScatter, WritesIntoCaches) {
  const auto graph = [](std::string_view mode, bool computed) {
    return input_text("x", {2, 2, 4, 1}) + input_text("u", {2, 2, 2, 1}) + (computed ? input_text("f", {2}) : "") +
           output_text("y") +
           (computed ? node_text("Cast", {"f"}, {"at"}, integer_attribute("to", 7))
                     : integers_text("at", {2}, {1, 3})) +
           node_text("TensorScatter", {"x", "u", "at"}, {"y"}, text_attribute("mode", mode));
  };
  const std::vector<float> cache(16, 0), updates{1, 2, 3, 4, 5, 6, 7, 8};
  const auto expected = ElementsAre(0, 1, 2, 0, 0, 3, 4, 0, 6, 0, 0, 5, 8, 0, 0, 7);
  EXPECT_THAT(result(graph("circular", false), cache, updates), expected);
  const auto loaded = onnx::parse_model(onnx_model(24, graph("circular", true)), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(evaluate(*loaded, {cache, updates, {1, 3}}).value().front(), expected);
  const auto linear = onnx::parse_model(onnx_model(24, graph("linear", true)), {});
  ASSERT_TRUE(linear) << linear.error().message;
  EXPECT_THROW((void)evaluate(*linear, {cache, updates, {1, 3}}), DeviceError);
  EXPECT_THAT(evaluate(*linear, {cache, updates, {1, 2}}).value().front(),
              ElementsAre(0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 5, 6, 0, 0, 7, 8));
  EXPECT_THAT(problem(graph("linear", false)), HasSubstr("index 3 is outside of 3 entries"));
  const std::string whole = input_text("x", {1, 3, 2}) + input_text("u", {1, 3, 1}) + output_text("y") +
                            node_text("TensorScatter", {"x", "u"}, {"y"}, integer_attribute("axis", 2));
  EXPECT_THAT(result(whole, std::vector<float>(6, 0), {1, 2, 3}), ElementsAre(1, 0, 2, 0, 3, 0));
  EXPECT_THAT(problem(graph("ring", false)), HasSubstr("attribute mode must be linear or circular, not ring"));
}

TEST(OnnxScatter, TakesPlacesOnlyThatItHoldsExactly) {
  const Shape large{(1 << 24) + 2};
  EXPECT_THAT(problem(scatter(large, {1}, {(1 << 24) + 1}, "")), HasSubstr("more than 2^24 elements"));
  const std::string line =
      input_text("x", {1, 1, (std::int64_t{1} << 34) + 1}) + output_text("y") +
      input_text("i", {1, 1, (std::int64_t{1} << 34) + 1}, 7) +
      node_text("MaxUnpool", {"x", "i"}, {"y"},
                integers_attribute("kernel_shape", {1}) + integers_attribute("strides", {1 << 30}));
  EXPECT_THAT(problem(line), HasSubstr("more than 2^24 elements"));
}

}  // namespace
}  // namespace cohort
