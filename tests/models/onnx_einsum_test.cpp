#include <gmock/gmock.h>

#include <bit>
#include <random>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Einsum, CumSum and CumProd, which become several ops.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

std::string einsum(std::string_view equation, const std::vector<Shape>& shapes) {
  std::string graph = output_text("y");
  std::vector<std::string> names;
  for (const Shape& shape : shapes) {
    names.push_back(fmt::format("x{}", names.size()));
    graph += input_text(names.back(), shape);
  }
  return graph + node_text("Einsum", names, {"y"}, text_attribute("equation", equation));
}

struct Outcome {
  Shape shape;
  std::vector<float> values;
};

Outcome result(const std::string& graph, const std::vector<std::vector<float>>& inputs) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(14, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const LoadedModel simple = simplify(*loaded);
  const auto outputs = evaluate(simple, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  return {simple.model.tensor(simple.model.outputs[0]).shape, outputs->front()};
}

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(14, graph), {});
  return loaded ? std::string("read") : loaded.error().message;
}

/// Digits of `at`, one for each label of `shape`, as the position in a dense tensor.
std::size_t position(const std::string& labels, const std::map<char, std::int64_t>& extents,
                     const std::map<char, std::int64_t>& at) {
  std::int64_t offset = 0;
  for (const char label : labels) offset = offset * extents.at(label) + at.at(label);
  return static_cast<std::size_t>(offset);
}

/// The definition: the sum, over every index of all labels, of the product of the operands.
std::vector<float> by_definition(const std::vector<std::string>& operands, const std::string& output,
                                 const std::map<char, std::int64_t>& extents,
                                 const std::vector<std::vector<float>>& inputs) {
  std::int64_t size = 1;
  for (const char label : output) size *= extents.at(label);
  std::vector<float> y(static_cast<std::size_t>(size), 0);
  std::map<char, std::int64_t> at;
  for (const auto& [label, extent] : extents) at[label] = 0;
  while (true) {
    float product = 1;
    for (std::size_t i = 0; i < operands.size(); ++i) product *= inputs[i][position(operands[i], extents, at)];
    y[position(output, extents, at)] += product;
    auto label = extents.begin();
    while (label != extents.end() && ++at[label->first] == label->second) at[(label++)->first] = 0;
    if (label == extents.end()) return y;
  }
}

TEST(OnnxEinsum, ComputesItsDefinition) {
  const std::map<char, std::int64_t> sizes{{'a', 2}, {'b', 3}, {'c', 4}, {'d', 5}, {'e', 1}};
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"abc", "acd"}, "abd"},      // stacked products
      {{"bc", "dc"}, "bd"},         // the second one transposed
      {{"cb", "cd"}, "db"},         // the first one, and the result
      {{"abcd", "aecd"}, "aceb"},   // attention's scores
      {{"bac", "cda"}, "bd"},       // two labels summed, in two orders
      {{"ab", "cd"}, "acbd"},       // an outer product
      {{"abc", "ca"}, "bca"},       // elementwise with a repeated operand
      {{"abc"}, "cab"},             // a transpose
      {{"abc"}, "b"},               // sums
      {{"ab", "cb"}, ""},           // everything summed
      {{"ab", "bc", "cd"}, "ad"},   // a chain
      {{"abd", "c", "dce"}, "ea"},  // labels that only one operand has
  };
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const auto& [operands, output] : cases) {
    std::map<char, std::int64_t> extents;
    std::vector<Shape> shapes;
    std::vector<std::vector<float>> inputs;
    std::string equation;
    for (const std::string& labels : operands) {
      shapes.emplace_back();
      for (const char label : labels) {
        extents[label] = sizes.at(label);
        shapes.back().push_back(sizes.at(label));
      }
      inputs.emplace_back(static_cast<std::size_t>(element_count(shapes.back())));
      for (float& value : inputs.back()) value = uniform(random);
      equation += (equation.empty() ? "" : ", ") + labels;
    }
    equation += " -> " + output;
    SCOPED_TRACE(equation);
    const Outcome y = result(einsum(equation, shapes), inputs);
    EXPECT_THAT(y.values, Pointwise(FloatNear(1e-5F), by_definition(operands, output, extents, inputs)));
    Shape shape;
    for (const char label : output) shape.push_back(sizes.at(label));
    EXPECT_EQ(y.shape, shape);
  }
}

TEST(OnnxEinsum, BroadcastsWhatAnEllipsisStandsFor) {
  const Outcome y = result(einsum("...ij,...jk->...ik", {{2, 1, 1, 2}, {3, 2, 1}}), {{1, 2, 3, 4}, {1, 1, 0, 1, 1, 0}});
  EXPECT_EQ(y.shape, (Shape{2, 3, 1, 1}));
  EXPECT_THAT(y.values, ElementsAre(3, 2, 1, 7, 4, 3));
}

TEST(OnnxEinsum, WithoutAnArrowKeepsLettersThatStandOnceInAlphabeticalOrder) {
  const Outcome y = result(einsum("cb,ca", {{2, 1}, {2, 2}}), {{1, 10}, {1, 2, 3, 4}});
  EXPECT_EQ(y.shape, (Shape{2, 1}));
  EXPECT_THAT(y.values, ElementsAre(31, 42));
}

TEST(OnnxEinsum, NamesWhatIsWrongInTheEquation) {
  EXPECT_THAT(problem(einsum("ii->i", {{2, 2}})), HasSubstr("term ii has i twice, which is not supported"));
  EXPECT_THAT(problem(einsum("ij->ik", {{2, 2}})), HasSubstr("k of the result of equation ij->ik is in no operand"));
  EXPECT_THAT(problem(einsum("ij,jk->ik", {{2, 2}})), HasSubstr("has 2 operands, the node 1"));
  EXPECT_THAT(problem(einsum("ijk->i", {{2, 2}})), HasSubstr("term ijk does not fit an operand of 2 dimensions"));
  EXPECT_THAT(problem(einsum("i1->i", {{2, 2}})), HasSubstr("term i1 holds 1, where only letters"));
  EXPECT_THAT(problem(einsum("...1i->...i", {{2, 3, 4}})), HasSubstr("term ...1i holds 1, where only letters"));
  EXPECT_THAT(problem(einsum("ij,jk->ik", {{2, 2}, {3, 2}})),
              HasSubstr("label j has 2 entries in one operand and 3 in another"));
}

TEST(OnnxCumSum, AddsUpFromEitherEnd) {
  const auto sum = [&](const Shape& shape, std::int64_t axis, std::int64_t exclusive, std::int64_t reverse) {
    std::vector<float> x(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
    return result(input_text("x", shape) + output_text("y") + integers_text("axis", {}, {axis}) +
                      node_text("CumSum", {"x", "axis"}, {"y"},
                                integer_attribute("exclusive", exclusive) + integer_attribute("reverse", reverse)),
                  {x})
        .values;
  };
  EXPECT_THAT(sum({5}, 0, 0, 0), ElementsAre(1, 3, 6, 10, 15));
  EXPECT_THAT(sum({5}, 0, 1, 0), ElementsAre(0, 1, 3, 6, 10));
  EXPECT_THAT(sum({5}, 0, 0, 1), ElementsAre(15, 14, 12, 9, 5));
  EXPECT_THAT(sum({5}, 0, 1, 1), ElementsAre(14, 12, 9, 5, 0));
  EXPECT_THAT(sum({2, 3}, -1, 0, 0), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sum({3, 2}, 0, 0, 0), ElementsAre(1, 2, 4, 6, 9, 12));
  EXPECT_THAT(sum({2, 1}, 1, 0, 0), ElementsAre(1, 2));
  EXPECT_THAT(sum({1}, 0, 0, 0), ElementsAre(1));
  EXPECT_THAT(sum({1}, 0, 1, 0), ElementsAre(0));
}

TEST(OnnxCumProd, MultipliesFromEitherEnd) {
  const auto product = [&](const std::vector<float>& x, std::int64_t exclusive, std::int64_t reverse, int type) {
    return result(input_text("x", {static_cast<std::int64_t>(x.size())}, type) + output_text("y") +
                      integers_text("axis", {}, {0}) +
                      node_text("CumProd", {"x", "axis"}, {"y"},
                                integer_attribute("exclusive", exclusive) + integer_attribute("reverse", reverse)),
                  {x})
        .values;
  };
  constexpr int kFloat = 1, kInt32 = 6;
  EXPECT_THAT(product({2, 3, 4, 5, 6}, 0, 0, kFloat), ElementsAre(2, 6, 24, 120, 720));
  EXPECT_THAT(product({2, 3, 4, 5, 6}, 1, 0, kFloat), ElementsAre(1, 2, 6, 24, 120));
  EXPECT_THAT(product({2, 3, 4, 5, 6}, 0, 1, kFloat), ElementsAre(720, 360, 120, 30, 6));
  EXPECT_THAT(product({2, 3, 4, 5, 6}, 1, 1, kFloat), ElementsAre(360, 120, 30, 6, 1));
  EXPECT_THAT(product({7}, 1, 0, kFloat), ElementsAre(1));
  const auto whole = [](std::vector<int> values) {
    std::vector<float> held;
    for (const int value : values) held.push_back(std::bit_cast<float>(value));
    return held;
  };
  const std::vector<float> exclusive = product(whole({2, 3, 4}), 1, 0, kInt32), expected = whole({1, 2, 6});
  EXPECT_TRUE(std::equal(exclusive.begin(), exclusive.end(), expected.begin(), expected.end(),
                         [](float a, float b) { return std::bit_cast<int>(a) == std::bit_cast<int>(b); }));
}

TEST(OnnxCumSum, LeavesWhatStandsBeforeAnInfinityFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(result(input_text("x", {3}) + output_text("y") + integers_text("axis", {}, {0}) +
                         node_text("CumSum", {"x", "axis"}, {"y"}),
                     {{1, infinity, 2}})
                  .values,
              ElementsAre(1, infinity, infinity));
}

}  // namespace
}  // namespace cohort
