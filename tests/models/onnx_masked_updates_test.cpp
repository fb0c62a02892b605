// Elements that a mask picks are replaced, as PyTorch's exporters write it: positions are listed first.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "models/compute/evaluate.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/onnx_text.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string node(const char* type, const std::vector<std::string>& inputs, const std::string& output,
                 const std::string& attributes = "") {
  return node_text(type, inputs, {output}, attributes);
}

/// The places of `mask`, as `places`, and their number, as `count`.
std::string listed(const std::string& mask) {
  return node("NonZero", {mask}, "columns") +
         node("Transpose", {"columns"}, "places", integers_attribute("perm", {1, 0})) +
         node("Shape", {"places"}, "extents") + integers_text("first", {}, {0}) +
         node("Gather", {"extents", "first"}, "number") + integers_text("zero", {1}, {0}) +
         node("Unsqueeze", {"number", "zero"}, "count") + integers_text("all", {1}, {-1});
}

const std::string kInputs = input_text("x", {2, 3}) + input_text("m", {2, 3}, 6) + output_text("y");
const std::vector<float> kX{1, 2, 3, 4, 5, 6};

std::vector<float> whole(const std::vector<std::int32_t>& values) {
  std::vector<float> elements;
  for (const std::int32_t value : values) elements.push_back(std::bit_cast<float>(value));
  return elements;
}

Result<std::vector<float>> result(const std::string& graph, const std::vector<std::vector<float>>& inputs) {
  COHORT_TRY(const LoadedModel loaded, onnx::parse_model(onnx_model(18, graph), {}));
  COHORT_TRY(auto outputs, reference::evaluate(loaded, inputs));
  return outputs[0];
}

TEST(OnnxMaskedUpdates, TakeValuesInTheirOrder) {
  const std::string graph = kInputs + input_text("v", {4}) + listed("m") +
                            node("Slice", {"v", "zero", "count"}, "some") +
                            node("ScatterND", {"x", "places", "some"}, "y");
  const auto y = [&](const std::vector<std::int32_t>& mask) {
    return result(graph, {kX, whole(mask), {10, 20, 30, 40}}).value();
  };
  EXPECT_THAT(y({0, 1, 0, 7, 0, 1}), ElementsAre(1, 10, 3, 20, 5, 30));
  EXPECT_THAT(y({0, 0, 0, 0, 0, 0}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(y({1, 1, 0, 1, 1, 0}), ElementsAre(10, 20, 3, 30, 40, 6));
}

TEST(OnnxMaskedUpdates, TakeRowsInTheirOrder) {
  const std::string graph = input_text("x", {3, 2}) + input_text("m", {3}, 6) + output_text("y") +
                            input_text("v", {2, 2}) + listed("m") + node("Slice", {"v", "zero", "count"}, "some") +
                            node("ScatterND", {"x", "places", "some"}, "y");
  EXPECT_THAT(result(graph, {kX, whole({1, 0, 1}), {10, 20, 30, 40}}).value(), ElementsAre(10, 20, 3, 4, 30, 40));
}

/// x[m] = v, where the mask is widened to every element.
std::string of_rows(std::int64_t axis, const Shape& v, const Shape& x = {2, 3, 2}) {
  return input_text("x", x) + input_text("m", {2, 3}, 6) + output_text("y") + input_text("v", v) +
         integers_text("behind", {1}, {axis}) + node("Unsqueeze", {"m", "behind"}, "column") +
         integers_text("wide", {3}, x) + node("Expand", {"column", "wide"}, "w") + listed("w") +
         node("Cast", {"m"}, "numbers", integer_attribute("to", 7)) +
         node("ReduceSum", {"numbers"}, "rows", integer_attribute("keepdims", 0)) +
         node("Unsqueeze", {"rows", "zero"}, "row_count") + integers_text("last", {1}, {x.back()}) +
         node("Concat", {"row_count", "last"}, "shape", integer_attribute("axis", 0)) +
         node("Expand", {"v", "shape"}, "repeated") + node("Reshape", {"repeated", "all"}, "flat") +
         node("ScatterND", {"x", "places", "flat"}, "y");
}

TEST(OnnxMaskedUpdates, GiveAllRowsTheSame) {
  std::vector<float> x(12), expected(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = expected[i] = static_cast<float>(i);
  for (const std::size_t row : {1U, 3U}) {
    expected[2 * row] = -1;
    expected[2 * row + 1] = -2;
  }
  const auto mask = whole({0, 1, 0, 1, 0, 0});
  for (const Shape& row : {Shape{2}, Shape{1, 2}}) {
    for (const std::int64_t axis : {2, -1})
      EXPECT_EQ(result(of_rows(axis, row), {x, mask, {-1, -2}}).value(), expected);
  }
  EXPECT_EQ(result(of_rows(2, {1}), {x, mask, {-1}}).value()[2], -1);
}

TEST(OnnxMaskedUpdates, AreRefusedWhereTheyMeanSomethingElse) {
  const auto problem = [](const std::string& graph) {
    const auto loaded = onnx::parse_model(onnx_model(18, graph), {});
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_THAT(problem(of_rows(2, {2, 2})), HasSubstr("values [2, 2] for each place of a mask [2, 3]"));
  EXPECT_THAT(problem(of_rows(0, {3}, {2, 2, 3})), HasSubstr("rows picked by a mask that has no first axes"));
  const std::string slice = node("Slice", {"v", "zero", "count"}, "some");
  const auto update = [&](const std::string& values, const std::string& attributes = "") {
    return kInputs + input_text("v", {4}) + integers_text("one", {1}, {1}) + listed("m") + values +
           node("ScatterND", {"x", "places", "some"}, "y", attributes);
  };
  EXPECT_EQ(problem(update(slice)), "");
  EXPECT_THAT(problem(update(slice, text_attribute("reduction", "add"))), HasSubstr("NonZero"));
  EXPECT_THAT(problem(update(node("Slice", {"v", "one", "count"}, "some"))), HasSubstr("NonZero"));
  EXPECT_THAT(problem(update(node("Slice", {"v", "zero", "one"}, "some"))), HasSubstr("NonZero"));
  EXPECT_THAT(problem(kInputs + input_text("v", {4, 2}) + listed("m") + slice +
                      node("ScatterND", {"x", "places", "some"}, "y")),
              HasSubstr("values [4, 2] for the places of a mask [2, 3] do not fit [2, 3]"));
  EXPECT_THAT(problem(input_text("x", {3, 2}) + input_text("m", {2, 3}, 6) + output_text("y") + input_text("v", {4}) +
                      listed("m") + slice + node("ScatterND", {"x", "places", "some"}, "y")),
              HasSubstr("a mask [2, 3] does not fit [3, 2]"));
}

}  // namespace
}  // namespace cohort
