#include <gmock/gmock.h>

#include <cmath>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Compress, CenterCropPad and LpPool, which become ops that there are.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr int kBool = 9;

Result<LoadedModel> read(const std::string& graph) { return onnx::parse_model(onnx_model(18, graph), {}); }

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = read(graph);
  return loaded ? std::string("read") : loaded.error().message;
}

/// 1, 2, ... for x.
std::vector<float> result(const Shape& shape, const std::string& nodes) {
  std::vector<float> x(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  const Result<LoadedModel> loaded = read(input_text("x", shape) + output_text("y") + nodes);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const auto outputs = evaluate(*loaded, {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::string compress(const std::vector<std::int64_t>& condition, const std::string& axis) {
  return narrow_text("c", {static_cast<std::int64_t>(condition.size())}, kBool, condition) +
         node_text("Compress", {"x", "c"}, {"y"}, axis);
}

TEST(OnnxCompress, KeepsEntriesWhereAConstantIsTrue) {
  EXPECT_THAT(result({2, 3}, compress({0, 1, 1}, integer_attribute("axis", 1))), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(result({2, 3}, compress({0, 1}, integer_attribute("axis", -2))), ElementsAre(4, 5, 6));
  EXPECT_THAT(result({2, 3}, compress({1, 0, 0, 0, 1}, "")), ElementsAre(1, 5));
  EXPECT_THAT(result({3}, compress({0, 0, 1}, "")), ElementsAre(3));
  // A condition that ends early keeps nothing behind its end.
  EXPECT_THAT(result({2, 3}, compress({1}, integer_attribute("axis", 1))), ElementsAre(1, 4));
}

TEST(OnnxCompress, MayKeepNothing) {
  const std::string joined =
      compress({0, 0}, "") + node_text("Concat", {"x", "y"}, {"z"}, integer_attribute("axis", 0));
  const Result<LoadedModel> loaded = read(input_text("x", {2}) + output_text("z") + joined);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->model.tensor(loaded->model.outputs[0]).shape, (Shape{2}));
}

TEST(OnnxCompress, SaysWhatItCannotDo) {
  const std::string head = input_text("x", {2, 3}) + output_text("y");
  EXPECT_THAT(problem(head + compress({0, 0, 1}, integer_attribute("axis", 0))),
              HasSubstr("condition keeps entry 2 of an axis of 2"));
  EXPECT_THAT(problem(head + input_text("c", {3}, kBool) + node_text("Compress", {"x", "c"}, {"y"})),
              HasSubstr("where condition is constant"));
}

std::string center(const std::vector<std::int64_t>& shape, const std::string& axes = "") {
  return integers_text("s", {static_cast<std::int64_t>(shape.size())}, shape) +
         node_text("CenterCropPad", {"x", "s"}, {"y"}, axes);
}

TEST(OnnxCenterCropPad, KeepsTheMiddleOrPutsZerosAroundIt) {
  EXPECT_THAT(result({5}, center({3})), ElementsAre(2, 3, 4));
  EXPECT_THAT(result({5}, center({2})), ElementsAre(2, 3));
  EXPECT_THAT(result({2}, center({5})), ElementsAre(0, 1, 2, 0, 0));
  EXPECT_THAT(result({2, 4}, center({3, 2})), ElementsAre(2, 3, 6, 7, 0, 0));
  EXPECT_THAT(result({2, 4}, center({2}, integers_attribute("axes", {-1}))), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(result({2, 2}, center({2, 2})), ElementsAre(1, 2, 3, 4));
  const std::string head = input_text("x", {2, 4}) + output_text("y");
  EXPECT_THAT(problem(head + center({2})), HasSubstr("shape must have 2 entries, not 1"));
  EXPECT_THAT(problem(head + center({2, -1})), HasSubstr("shape must hold numbers from 0 to 1073741824, not -1"));
}

TEST(OnnxCenterCropPad, TakesImagesOfBytes) {
  constexpr int kUint8 = 2;
  const Result<LoadedModel> loaded = read(input_text("x", {1, 4}, kUint8) + output_text("y") + center({1, 2}));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto y = evaluate(*loaded, {{1, 200, 255, 4}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_THAT(*y, ElementsAre(ElementsAre(200, 255)));
}

TEST(OnnxLpPool, IsTheNormOfEachWindow) {
  const auto pool = [](const Shape& shape, const std::string& attributes) {
    return result(shape, node_text("LpPool", {"x"}, {"y"}, attributes));
  };
  const std::string pairs = integers_attribute("kernel_shape", {2}) + integers_attribute("strides", {2});
  EXPECT_THAT(pool({1, 1, 4}, pairs + integer_attribute("p", 1)), ElementsAre(3, 7));
  EXPECT_THAT(pool({1, 1, 4}, pairs), Pointwise(FloatNear(1e-5F), {std::sqrt(5.0F), 5.0F}));
  EXPECT_THAT(pool({1, 1, 4}, pairs + integer_attribute("p", 3)),
              Pointwise(FloatNear(1e-5F), {std::cbrt(9.0F), std::cbrt(91.0F)}));
  // Of pads there is nothing to add, nor behind them, where the last window reaches with ceil_mode.
  EXPECT_THAT(pool({1, 1, 4}, pairs + integer_attribute("p", 1) + integers_attribute("pads", {1, 0})),
              ElementsAre(1, 5));
  EXPECT_THAT(pool({1, 1, 4}, pairs + integer_attribute("p", 1) + integers_attribute("pads", {1, 0}) +
                                  integer_attribute("ceil_mode", 1)),
              ElementsAre(1, 5, 4));
  EXPECT_THAT(pool({1, 1, 5}, integers_attribute("kernel_shape", {2}) + integers_attribute("dilations", {3}) +
                                  integer_attribute("p", 1)),
              ElementsAre(5, 7));
  EXPECT_THAT(problem(input_text("x", {1, 1, 4}) + output_text("y") +
                      node_text("LpPool", {"x"}, {"y"}, pairs + integer_attribute("p", 0))),
              HasSubstr("attribute p must be above 0, not 0"));
}

TEST(OnnxGlobalLpPool, IsTheNormOfEachChannel) {
  EXPECT_THAT(result({1, 2, 2, 1}, node_text("GlobalLpPool", {"x"}, {"y"})),
              Pointwise(FloatNear(1e-5F), {std::sqrt(5.0F), 5.0F}));
  EXPECT_THAT(result({1, 2, 2, 1}, node_text("GlobalLpPool", {"x"}, {"y"}, integer_attribute("p", 1))),
              ElementsAre(3, 7));
}

}  // namespace
}  // namespace cohort
