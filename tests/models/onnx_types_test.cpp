#include <gmock/gmock.h>

#include <limits>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Types of elements that a model holds in float32: 16-bit floating point, and whole numbers of 8 and 16 bits.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int kUint8 = 2, kInt8 = 3, kUint16 = 4, kInt16 = 5, kInt32 = 6, kInt64 = 7, kFloat16 = 10, kBfloat16 = 16;

std::string cast(const std::string& from, const std::string& to, int type) {
  return node_text("Cast", {from}, {to}, integer_attribute("to", type));
}

Result<LoadedModel> read(const std::string& graph) { return onnx::parse_model(onnx_model(17, graph), {}); }

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = read(graph);
  return loaded ? std::string("read") : loaded.error().message;
}

/// The first output for the inputs given.
std::vector<float> result(const std::string& graph, const std::vector<std::vector<float>>& inputs) {
  const Result<LoadedModel> loaded = read(graph + output_text("y"));
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const Model& model = loaded->model;
  auto outputs = evaluate(simplify(*loaded), inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  return as_numbers(model.tensor(model.outputs[0]).element, outputs->front());
}

std::size_t op_count(const std::string& graph) {
  const Result<LoadedModel> loaded = read(graph + output_text("y"));
  return loaded ? loaded->model.ops.size() : 0;
}

TEST(OnnxTypes, SixteenBitFloatingPointIsComputedInFloat32) {
  for (const int type : {kFloat16, kBfloat16}) {
    const std::string graph =
        input_text("x", {2}, type) + cast("x", "a", 1) + cast("a", "b", type) + node_text("Neg", {"b"}, {"y"});
    EXPECT_THAT(result(graph, {{0.1F, 3}}), ElementsAre(-0.1F, -3));
    EXPECT_EQ(op_count(graph), 1U);
  }
}

TEST(OnnxTypes, PixelsAreWholeNumbersInFloat32) {
  const std::string graph = input_text("x", {1, 2, 2, 1}, kUint8) +
                            node_text("Transpose", {"x"}, {"t"}, integers_attribute("perm", {0, 3, 1, 2})) +
                            cast("t", "f", 1) + floats_text("s", {}, {0.5F}) + node_text("Mul", {"f", "s"}, {"y"});
  EXPECT_THAT(result(graph, {{0, 255, 3, 4}}), ElementsAre(0, 127.5F, 1.5F, 2));
}

TEST(OnnxTypes, MovingChoosingAndComparingKeepWholeNumbers) {
  const std::string x = input_text("x", {3}, kInt8);
  const std::string other = narrow_text("o", {3}, kInt8, {7, -8, 9});
  EXPECT_THAT(result(x + other + node_text("Max", {"x", "o"}, {"y"}), {{-1, 2, 100}}), ElementsAre(7, 2, 100));
  EXPECT_THAT(result(x + other + node_text("Concat", {"x", "o"}, {"y"}, integer_attribute("axis", 0)), {{1, 2, 3}}),
              ElementsAre(1, 2, 3, 7, -8, 9));
  EXPECT_THAT(result(x + other + node_text("Less", {"x", "o"}, {"y"}), {{1, 2, 3}}), ElementsAre(1, 0, 1));
  EXPECT_THAT(result(x + other + node_text("Less", {"x", "o"}, {"l"}) + node_text("Where", {"l", "x", "o"}, {"y"}),
                     {{1, 2, 3}}),
              ElementsAre(1, -8, 3));
}

/// Sums of two of 200 are 144 in 8 bits, and 400 in float32.
TEST(OnnxTypes, ArithmeticThatWouldWrapAroundIsRefused) {
  for (const char* const op : {"Add", "Sub", "Mul", "Div", "Mod"}) {
    const std::string graph = input_text("x", {2}, kUint8) + narrow_text("o", {2}, kUint8, {200, 1}) +
                              node_text("Identity", {"x"}, {"i"}) + node_text(op, {"i", "o"}, {"y"}) + output_text("y");
    EXPECT_THAT(problem(graph), HasSubstr("reads i, uint8 that is held in float32")) << op;
  }
  const std::string levels = input_text("x", {2}) + floats_text("s", {}, {1}) +
                             node_text("QuantizeLinear", {"x", "s"}, {"q"}) + node_text("Add", {"q", "q"}, {"y"}) +
                             output_text("y");
  EXPECT_THAT(problem(levels), HasSubstr("reads q, uint8"));
  const std::string resized = input_text("x", {1, 1, 2, 2}, kUint8) + floats_text("s", {4}, {1, 1, 2, 2}) +
                              node_text("Resize", {"x", "", "s"}, {"y"}, text_attribute("mode", "linear")) +
                              output_text("y");
  EXPECT_THAT(problem(resized), HasSubstr("reads x, uint8"));
}

TEST(OnnxTypes, SumsOfLevelsAddUpButDoNotDivide) {
  const std::string product = input_text("x", {1, 2}, kUint8) + narrow_text("b", {2, 1}, kInt8, {-3, 4}) +
                              node_text("MatMulInteger", {"x", "b"}, {"p"});
  EXPECT_THAT(result(product + narrow_text("o", {1}, kInt32, {5}) + node_text("Add", {"p", "o"}, {"y"}), {{10, 1}}),
              ElementsAre(-21));
  EXPECT_THAT(
      problem(product + narrow_text("o", {1}, kInt32, {5}) + node_text("Div", {"p", "o"}, {"y"}) + output_text("y")),
      HasSubstr("reads p, int32 that is held in float32"));
}

TEST(OnnxTypes, SumsOfLevelsLeaveAsWholeNumbers) {
  const auto loaded = read(input_text("x", {1, 1}, kUint8) + narrow_text("b", {1, 1}, kInt8, {-3}) +
                           node_text("MatMulInteger", {"x", "b"}, {"y"}) + output_text("y"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tensor& y = loaded->model.tensor(loaded->model.outputs[0]);
  EXPECT_EQ(y.name, "y");
  EXPECT_EQ(y.element, ElementType::kInt32);
}

TEST(OnnxTypes, CastsToNarrowNumbersRoundTowardsZeroAndWrapAround) {
  const auto to = [](int type, const std::vector<float>& x) {
    const auto count = static_cast<std::int64_t>(x.size());
    return result(input_text("x", {count}) + cast("x", "y", type), {x});
  };
  EXPECT_THAT(to(kUint8, {1.9F, 255, 256, -1, -1.5F}), ElementsAre(1, 255, 0, 255, 255));
  EXPECT_THAT(to(kInt8, {-1.9F, 127, 128, -128, -129, 300}), ElementsAre(-1, 127, -128, -128, 127, 44));
  EXPECT_THAT(to(kUint16, {65536, -1}), ElementsAre(0, 65535));
  EXPECT_THAT(to(kInt16, {32768, -32769}), ElementsAre(-32768, 32767));
}

TEST(OnnxTypes, CastsOfWhatFitsTakeOneOp) {
  const std::string clip = input_text("x", {2}) + floats_text("a", {}, {0}) + floats_text("b", {}, {255}) +
                           node_text("Clip", {"x", "a", "b"}, {"c"});
  EXPECT_EQ(op_count(clip + cast("c", "y", kUint8)), 2U);
  EXPECT_THAT(result(clip + cast("c", "y", kUint8), {{-3, 254.9F}}), ElementsAre(0, 254));
  const std::string rounded = clip + node_text("Round", {"c"}, {"r"});
  EXPECT_EQ(op_count(rounded + node_text("Neg", {"c"}, {"n"}) + cast("r", "y", kUint8)), 3U);
  EXPECT_THAT(result(rounded + cast("r", "y", kUint8), {{300, 254.9F}}), ElementsAre(255, 255));
  EXPECT_THAT(result(clip + cast("c", "y", kInt8), {{200, 1}}), ElementsAre(-56, 1));
}

TEST(OnnxTypes, ZeroPointsOfAKnownTypeMayBeComputed) {
  const std::string graph = input_text("x", {2}) + input_text("z", {}, kInt8) + floats_text("s", {}, {1}) +
                            node_text("QuantizeLinear", {"x", "s", "z"}, {"y"});
  EXPECT_THAT(result(graph, {{200, -200}, {3}}), ElementsAre(127, -128));
  EXPECT_THAT(problem(input_text("x", {2}) + input_text("z", {}) + floats_text("s", {}, {1}) +
                      node_text("QuantizeLinear", {"x", "s", "z"}, {"y"}) + output_text("y")),
              HasSubstr("input 2 (zero point) must be of a known type"));
}

TEST(OnnxTypes, BothBranchesOfAnIfHoldWholeNumbers) {
  const auto branch = [](const char* name, const char* op) {
    return " attribute { name: \"" + std::string(name) + "\" type: GRAPH g { " + node_text(op, {"x"}, {"out"}) +
           output_text("out") + " } }";
  };
  const std::string graph =
      input_text("x", {2}, kUint8) + input_text("t", {2}) + floats_text("zero", {}, {0}) +
      node_text("ReduceSum", {"t"}, {"sum"}, integer_attribute("keepdims", 0)) +
      node_text("Greater", {"sum", "zero"}, {"c"}) +
      node_text("If", {"c"}, {"i"}, branch("then_branch", "Identity") + branch("else_branch", "Relu"));
  EXPECT_THAT(problem(graph + node_text("Add", {"i", "x"}, {"y"}) + output_text("y")), HasSubstr("reads i, uint8"));
}

TEST(OnnxTypes, NotANumberAndInfinitiesHaveWholeNumbersOfTheirOwn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN(), -2.5F};
  EXPECT_THAT(result(input_text("x", {4}) + cast("x", "y", kInt64), {x}), ElementsAre(-0x1p31F, 0x1p31F, -0x1p31F, -2));
  EXPECT_THAT(problem(floats_text("x", {1}, {3e9F}) + cast("x", "y", kInt64) + output_text("y")),
              Not(HasSubstr("read")));
}

}  // namespace
}  // namespace cohort
