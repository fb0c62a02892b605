#include <fmt/format.h>
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
  return decoded_numbers(model.tensor(model.outputs[0]).element, outputs->front());
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
    EXPECT_THAT(problem(graph), HasSubstr("reads i, numbers of type uint8, on which it is not supported")) << op;
  }
  const std::string levels = input_text("x", {2}) + floats_text("s", {}, {1}) +
                             node_text("QuantizeLinear", {"x", "s"}, {"q"}) + node_text("Add", {"q", "q"}, {"y"}) +
                             output_text("y");
  EXPECT_THAT(problem(levels), HasSubstr("reads q, numbers of type uint8"));
  const std::string resized = input_text("x", {1, 1, 2, 2}, kUint8) + floats_text("s", {4}, {1, 1, 2, 2}) +
                              node_text("Resize", {"x", "", "s"}, {"y"}, text_attribute("mode", "linear")) +
                              output_text("y");
  EXPECT_THAT(problem(resized), HasSubstr("reads x, numbers of type uint8"));
}

TEST(OnnxTypes, SumsOfLevelsAddUpButDoNotDivide) {
  const std::string product = input_text("x", {1, 2}, kUint8) + narrow_text("b", {2, 1}, kInt8, {-3, 4}) +
                              node_text("MatMulInteger", {"x", "b"}, {"p"});
  EXPECT_THAT(result(product + narrow_text("o", {1}, kInt32, {5}) + node_text("Add", {"p", "o"}, {"y"}), {{10, 1}}),
              ElementsAre(-21));
  EXPECT_THAT(
      problem(product + narrow_text("o", {1}, kInt32, {5}) + node_text("Div", {"p", "o"}, {"y"}) + output_text("y")),
      HasSubstr("reads p, numbers of type int32"));
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
  const std::string low = input_text("x", {2}) + floats_text("a", {}, {-128}) + floats_text("b", {}, {127}) +
                          node_text("Clip", {"x", "a", "b"}, {"c"});
  EXPECT_EQ(op_count(low + cast("c", "y", kInt8)), 3U);
  EXPECT_THAT(result(low + cast("c", "y", kInt8), {{-300, 1.5F}}), ElementsAre(-128, 1));
}

TEST(OnnxTypes, ZeroPointsOfAKnownTypeMayBeComputed) {
  const std::string graph = input_text("x", {2}) + input_text("z", {}, kInt8) + floats_text("s", {}, {1}) +
                            node_text("QuantizeLinear", {"x", "s", "z"}, {"y"});
  EXPECT_THAT(result(graph, {{200, -200}, {3}}), ElementsAre(127, -128));
  EXPECT_THAT(problem(input_text("x", {2}) + input_text("z", {}) + floats_text("s", {}, {1}) +
                      node_text("QuantizeLinear", {"x", "s", "z"}, {"y"}) + output_text("y")),
              HasSubstr("input 2 (zero point) must be of a known type"));
}

/// An If on the sum of input t, whose branches hold the nodes given; they write "out".
std::string choice(const std::string& if_true, const std::string& if_false) {
  const auto branch = [](const char* name, const std::string& nodes) {
    return " attribute { name: \"" + std::string(name) + "\" type: GRAPH g { " + nodes + output_text("out") + " } }";
  };
  return input_text("t", {2}) + floats_text("zero", {}, {0}) +
         node_text("ReduceSum", {"t"}, {"sum"}, integer_attribute("keepdims", 0)) +
         node_text("Greater", {"sum", "zero"}, {"c"}) +
         node_text("If", {"c"}, {"i"}, branch("then_branch", if_true) + branch("else_branch", if_false));
}

TEST(OnnxTypes, BothBranchesOfAnIfHoldWholeNumbers) {
  const std::string x = input_text("x", {2}, kUint8);
  const std::string computed = x + choice(node_text("Identity", {"x"}, {"out"}), node_text("Relu", {"x"}, {"out"}));
  EXPECT_THAT(problem(computed + node_text("Add", {"i", "x"}, {"y"}) + output_text("y")),
              HasSubstr("reads i, numbers of type uint8"));
  const std::string constants = choice(narrow_text("out", {1}, kUint8, {200}), narrow_text("out", {1}, kUint8, {100}));
  EXPECT_THAT(problem(constants + node_text("Add", {"i", "i"}, {"y"}) + output_text("y")),
              HasSubstr("reads i, numbers of type uint8"));
  const std::string mixed = x + narrow_text("k", {2}, kUint8, {7, 8}) +
                            choice(node_text("Identity", {"x"}, {"out"}), node_text("Identity", {"k"}, {"out"})) +
                            cast("i", "y", 1);
  EXPECT_THAT(result(mixed, {{1, 2}, {1, 1}}), ElementsAre(1, 2));
  EXPECT_THAT(result(mixed, {{1, 2}, {-1, -1}}), ElementsAre(7, 8));
}

TEST(OnnxTypes, ConstantsKeepTheirTypeThroughWhatIsComputedOfThem) {
  const std::string table = input_text("n", {1}, kInt64) + narrow_text("k", {2, 1}, kUint8, {200, 100}) +
                            integers_text("flat", {1}, {2}) + node_text("Reshape", {"k", "flat"}, {"r"}) +
                            node_text("Gather", {"r", "n"}, {"g"});
  EXPECT_THAT(problem(table + node_text("Add", {"g", "g"}, {"y"}) + output_text("y")),
              HasSubstr("reads g, numbers of type uint8"));
  const std::string added = narrow_text("a", {1}, kUint8, {200}) + narrow_text("b", {1}, kUint8, {100});
  EXPECT_THAT(problem(input_text("x", {1}) + added + node_text("Add", {"a", "b"}, {"s"}) + cast("s", "f", 1) +
                      node_text("Mul", {"x", "f"}, {"y"}) + output_text("y")),
              HasSubstr("reads a, numbers of type uint8"));
  const std::string joined = input_text("x", {1, 1}, kUint8) + narrow_text("k", {1}, kUint8, {9}) +
                             integers_text("axes", {1}, {0}) + node_text("Unsqueeze", {"k", "axes"}, {"u"}) +
                             node_text("Concat", {"x", "u"}, {"y"}, integer_attribute("axis", 0));
  EXPECT_THAT(result(joined, {{5}}), ElementsAre(5, 9));
}

TEST(OnnxTypes, LevelsOfConstantsAreWholeNumbers) {
  const std::string graph = input_text("x", {2}) + floats_text("w", {2}, {1, -3}) + floats_text("s", {}, {0.5F}) +
                            narrow_text("z", {}, kInt8, {1}) + node_text("QuantizeLinear", {"w", "s", "z"}, {"q"}) +
                            node_text("DequantizeLinear", {"q", "s", "z"}, {"d"}) + node_text("Mul", {"x", "d"}, {"y"});
  EXPECT_THAT(result(graph, {{10, 10}}), ElementsAre(10, -30));
}

TEST(OnnxTypes, CastLikeOfAConstantIsWhatItsValueSays) {
  const std::string graph = input_text("x", {1}) + narrow_text("a", {1}, kUint8, {7}) +
                            narrow_text("b", {1}, kUint8, {2}) + node_text("CastLike", {"a", "x"}, {"c"}) +
                            node_text("CastLike", {"b", "x"}, {"d"}) + node_text("Div", {"c", "d"}, {"q"}) +
                            node_text("Mul", {"x", "q"}, {"y"});
  EXPECT_THAT(result(graph, {{2}}), ElementsAre(7));
}

TEST(OnnxTypes, CastLikeOfTruthValuesMakesTruthValues) {
  constexpr int kBool = 9;
  const std::string graph = input_text("x", {2}) + input_text("like", {1}, kBool) + cast("x", "n", kInt64) +
                            node_text("CastLike", {"n", "like"}, {"b"}) + cast("b", "y", 1);
  EXPECT_THAT(result(graph, {{0, 2}, {0}}), ElementsAre(0, 1));
}

TEST(OnnxTypes, CastLikeOfComputedTruthValuesMakesTruthValues) {
  const std::string graph = input_text("x", {3}) + input_text("a", {3}) + input_text("b", {3}) +
                            cast("x", "n", kInt64) + node_text("Less", {"a", "b"}, {"less"}) +
                            node_text("Flatten", {"less"}, {"like"}, integer_attribute("axis", 0)) +
                            node_text("CastLike", {"n", "like"}, {"t"}) + cast("t", "y", 1);
  EXPECT_THAT(result(graph, {{0, 2, 5}, {1, 1, 1}, {0, 2, 0}}), ElementsAre(0, 1, 1));
}

TEST(OnnxTypes, CastLikeOfWholeNumbersMadeOfTruthValuesMakesWholeNumbers) {
  const std::string graph = input_text("x", {3}) + input_text("a", {3}) + input_text("b", {3}) +
                            cast("x", "n", kInt64) + node_text("Less", {"a", "b"}, {"less"}) +
                            cast("less", "like", kInt64) + node_text("CastLike", {"n", "like"}, {"t"}) +
                            cast("t", "y", 1);
  EXPECT_THAT(result(graph, {{0, 2, 5}, {1, 1, 1}, {0, 2, 0}}), ElementsAre(0, 2, 5));
}

TEST(OnnxTypes, CastLikeOfTruthValuesThatAreComputedBeforehandMakesTruthValues) {
  const std::string graph = input_text("x", {2}) + floats_text("a", {1}, {1}) + floats_text("b", {1}, {2}) +
                            cast("x", "n", kInt64) + node_text("Less", {"a", "b"}, {"like"}) +
                            node_text("CastLike", {"n", "like"}, {"t"}) + cast("t", "y", 1);
  EXPECT_THAT(result(graph, {{0, 2}}), ElementsAre(0, 1));
}

TEST(OnnxTypes, AreKeptByConstantsThatAreMadeAndMoved) {
  // The bits of a byte that nothing but the ConstantOfShape tells is one.
  const std::string graph =
      input_text("x", {2}) + integers_text("shape", {1}, {2}) +
      node_text("ConstantOfShape", {"shape"}, {"zeros"},
                "attribute { name: \"value\" type: TENSOR t { dims: 1 data_type: 2 int32_data: 0 } }") +
      node_text("BitwiseNot", {"zeros"}, {"ones"}) + cast("ones", "bits", 1) + node_text("Add", {"x", "bits"}, {"y"});
  EXPECT_THAT(result(graph, {{0, 1}}), ElementsAre(255, 256));
}

TEST(OnnxTypes, BitsAreThoseOfTheType) {
  const auto both = [](std::string_view op, int type, const std::vector<float>& a, const std::vector<float>& b) {
    const std::string graph = input_text("x", {static_cast<std::int64_t>(a.size())}) + input_text("z", {1}) +
                              cast("x", "n", type) + cast("z", "m", type) + node_text(op, {"n", "m"}, {"r"}) +
                              cast("r", "y", 1);
    return result(graph, {a, b});
  };
  EXPECT_THAT(both("BitwiseAnd", kInt64, {12, -1, 7, -8}, {10}), ElementsAre(8, 10, 2, 8));
  EXPECT_THAT(both("BitwiseOr", kInt32, {12, -1, 0, -8}, {10}), ElementsAre(14, -1, 10, -6));
  EXPECT_THAT(both("BitwiseXor", kInt8, {12, -1, 0, -128}, {10}), ElementsAre(6, -11, 10, -118));
  EXPECT_THAT(both("BitwiseXor", kUint8, {12, 255}, {10}), ElementsAre(6, 245));
  const auto negated = [](int type, const std::vector<float>& a) {
    return result(input_text("x", {static_cast<std::int64_t>(a.size())}) + cast("x", "n", type) +
                      node_text("BitwiseNot", {"n"}, {"r"}) + cast("r", "y", 1),
                  {a});
  };
  EXPECT_THAT(negated(kInt32, {0, 5, -7}), ElementsAre(-1, -6, 6));
  EXPECT_THAT(negated(kInt16, {0, 5, -7}), ElementsAre(-1, -6, 6));
  EXPECT_THAT(negated(kUint16, {0, 5}), ElementsAre(65535, 65530));
  const auto shifted = [](std::string_view direction, int type, const std::vector<float>& a, float places) {
    return result(input_text("x", {static_cast<std::int64_t>(a.size())}) + input_text("z", {1}) + cast("x", "n", type) +
                      cast("z", "m", type) +
                      node_text("BitShift", {"n", "m"}, {"r"}, text_attribute("direction", direction)) +
                      cast("r", "y", 1),
                  {a, {places}});
  };
  EXPECT_THAT(shifted("LEFT", kUint8, {1, 200, 255}, 2), ElementsAre(4, 32, 252));
  EXPECT_THAT(shifted("RIGHT", kUint16, {1, 65535, 256}, 8), ElementsAre(0, 255, 1));
  EXPECT_THAT(shifted("RIGHT", kUint8, {255}, 20), ElementsAre(0));
}

TEST(OnnxTypes, BitsOfConstantsMoveToo) {
  const std::string graph = input_text("x", {1}) + narrow_text("a", {1}, kUint8, {200}) +
                            narrow_text("b", {1}, kUint8, {2}) +
                            node_text("BitShift", {"a", "b"}, {"c"}, text_attribute("direction", "LEFT")) +
                            cast("c", "f", 1) + node_text("Add", {"x", "f"}, {"y"});
  EXPECT_THAT(result(graph, {{0}}), ElementsAre(32));
}

TEST(OnnxTypes, BitsOfConstantsAreThoseOf64) {
  const std::string graph = input_text("x", {1}) + integers_text("a", {1}, {(std::int64_t{1} << 40) + 6}) +
                            integers_text("b", {}, {12}) + node_text("BitwiseAnd", {"a", "b"}, {"c"}) +
                            cast("c", "f", 1) + node_text("Add", {"x", "f"}, {"y"});
  EXPECT_THAT(result(graph, {{0}}), ElementsAre(4));
}

TEST(OnnxTypes, WholeNumbersToWholePowersAreExact) {
  // 7 to the power of 9 is 40353607, which float32 does not hold.
  const std::string graph = input_text("x", {1}) + cast("x", "n", kInt64) + floats_text("e", {}, {9}) +
                            node_text("Pow", {"n", "e"}, {"p"}) + integers_text("ten", {}, {10}) +
                            node_text("Mod", {"p", "ten"}, {"m"}) + cast("m", "y", 1);
  EXPECT_THAT(result(graph, {{7}}), ElementsAre(7));
}

TEST(OnnxTypes, ARangeOfFloat64IsRefusedWhereRoundingDecidesItsLength) {
  const auto range = [](std::string_view limit, std::string_view delta) {
    const auto number = [](std::string_view name, std::string_view value) {
      return fmt::format(" initializer {{ name: \"{}\" data_type: 11 double_data: {} }}", name, value);
    };
    return input_text("x", {1}) + number("start", "0") + number("limit", limit) + number("delta", delta) +
           node_text("Range", {"start", "limit", "delta"}, {"r"}) + node_text("Add", {"x", "r"}, {"y"});
  };
  EXPECT_THAT(problem(range("0.3", "0.1")), HasSubstr("the number of elements needs float64"));
  EXPECT_THAT(result(range("0.25", "0.1"), {{0}}), ElementsAre(0, 0.1F, 0.2F));
  EXPECT_THAT(result(range("0.75", "0.25"), {{0}}), ElementsAre(0, 0.25F, 0.5F));
}

TEST(OnnxTypes, ARangeOfFloat32HasAsManyElementsAsInOnnxRuntime) {
  const std::string graph = input_text("x", {1}) + floats_text("start", {}, {0.1F}) + floats_text("limit", {}, {1.1F}) +
                            floats_text("delta", {}, {0.1F}) + node_text("Range", {"start", "limit", "delta"}, {"r"}) +
                            node_text("Add", {"x", "r"}, {"y"});
  EXPECT_EQ(result(graph, {{0}}).size(), 10U);
  // Of the same numbers as float64 the difference is not rounded, and the last digit decides.
  const std::string wide = input_text("x", {1}) + floats_text("s", {}, {0.1F}) + floats_text("l", {}, {1.1F}) +
                           floats_text("d", {}, {0.1F}) + cast("s", "start", 11) + cast("l", "limit", 11) +
                           cast("d", "delta", 11) + node_text("Range", {"start", "limit", "delta"}, {"r"}) +
                           node_text("Add", {"x", "r"}, {"y"});
  EXPECT_THAT(problem(wide), HasSubstr("needs float64"));
}

TEST(OnnxTypes, OnlyTheInputThatDecidesTheTypeOfAResultIsAskedForIt) {
  const std::string hot = input_text("x", {2}, kUint8) + integers_text("depth", {}, {3}) +
                          floats_text("values", {2}, {0, 1}) + node_text("OneHot", {"x", "depth", "values"}, {"h"}) +
                          node_text("Neg", {"h"}, {"y"});
  EXPECT_THAT(result(hot, {{2, 0}}), ElementsAre(0, 0, -1, -1, 0, 0));
  const std::string power =
      input_text("x", {2}) + narrow_text("e", {}, kInt8, {2}) + node_text("Pow", {"x", "e"}, {"y"});
  EXPECT_THAT(result(power, {{3, -4}}), ElementsAre(9, 16));
}

TEST(OnnxTypes, ConstantsAreReadOnceAndNotTrained) {
  const std::string graph = input_text("n", {1}, kInt64) + narrow_text("k", {2}, kUint8, {200, 100}) +
                            input_text("x", {2}, kUint8) + node_text("Max", {"x", "k"}, {"a"}) +
                            node_text("Min", {"x", "k"}, {"b"}) + cast("a", "c", 1) + cast("b", "d", 1) +
                            node_text("Add", {"c", "d"}, {"y"}) + output_text("y");
  onnx::ReadOptions options;
  options.for_training = true;
  const auto loaded = onnx::parse_model(onnx_model(17, graph), options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  std::vector<const Tensor*> weights;
  for (const Tensor& tensor : loaded->model.tensors) {
    if (tensor.role == TensorRole::kWeight) weights.push_back(&tensor);
  }
  ASSERT_EQ(weights.size(), 1U);
  EXPECT_TRUE(weights[0]->fixed);
}

TEST(OnnxTypes, ConstantOutputsAreAsOthers) {
  const auto loaded = read(input_text("x", {1}) + narrow_text("k", {1}, kUint8, {9}) +
                           node_text("Identity", {"k"}, {"y"}) + output_text("y"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->model.tensor(loaded->model.outputs[0]).element, ElementType::kFloat32);
}

TEST(OnnxTypes, SumsOfLevelsThatAreSeveralOutputsKeepTheirNames) {
  const auto loaded = read(input_text("x", {1, 1}, kUint8) + narrow_text("b", {1, 1}, kInt8, {-3}) +
                           node_text("MatMulInteger", {"x", "b"}, {"m"}) + cast("m", "f", 1) +
                           node_text("Identity", {"m"}, {"g"}) + output_text("f") + output_text("g"));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Model& model = loaded->model;
  EXPECT_EQ(model.tensor(model.outputs[0]).name, "f");
  EXPECT_EQ(model.tensor(model.outputs[0]).element, ElementType::kFloat32);
  EXPECT_EQ(model.tensor(model.outputs[1]).name, "g");
  EXPECT_EQ(model.tensor(model.outputs[1]).element, ElementType::kInt32);
}

TEST(OnnxTypes, NotANumberAndInfinitiesHaveWholeNumbersOfTheirOwn) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN(), -2.5F};
  EXPECT_THAT(result(input_text("x", {4}) + cast("x", "y", kInt64), {x}), ElementsAre(-0x1p31F, 0x1p31F, -0x1p31F, -2));
  EXPECT_THAT(problem(floats_text("x", {1}, {3e9F}) + cast("x", "y", kInt64) + output_text("y")),
              HasSubstr("3000000000 is no whole number of 32 bits"));
}

}  // namespace
}  // namespace cohort
