#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "executor/device_error.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Operators beside those of the classic networks; what each computes is checked against the ONNX
// project's cases, here is what those leave out.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

LoadedModel read(const std::string& graph, int opset = 13) {
  Result<LoadedModel> loaded = onnx::parse_model(onnx_model(opset, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *std::move(loaded) : LoadedModel{};
}

std::string problem(const std::string& graph, int opset = 13) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(opset, graph), {});
  return loaded ? std::string("read") : loaded.error().message;
}

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const Op& op : model.ops) types.emplace_back(op_type(op.attributes));
  return types;
}

std::vector<float> result(const LoadedModel& loaded, const std::vector<float>& x) {
  const auto outputs = evaluate(loaded, {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

std::string x_and_y(const Shape& shape) { return input_text("x", shape) + output_text("y"); }

TEST(OnnxGather, PicksRowsByConstantIndicesAndRefusesThoseOutside) {
  const std::string nodes = node_text("Gather", {"x", "rows"}, {"y"}, integer_attribute("axis", 0));
  const LoadedModel loaded = read(x_and_y({3, 2}) + integers_text("rows", {2}, {-1, 0}) + nodes);
  EXPECT_THAT(result(loaded, {1, 2, 3, 4, 5, 6}), ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(problem(x_and_y({3, 2}) + integers_text("rows", {1}, {3}) + nodes),
              HasSubstr("index 3 is outside of 3 entries"));
}

TEST(OnnxWhere, ChoosesByAConditionThatIsComputed) {
  const LoadedModel loaded =
      read(x_and_y({4}) + floats_text("limit", {}, {2}) + floats_text("zero", {}, {0}) +
           node_text("Greater", {"x", "limit"}, {"large"}) + node_text("Not", {"large"}, {"small"}) +
           node_text("Where", {"small", "x", "zero"}, {"y"}));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4}), ElementsAre(1, 2, 0, 0));
}

TEST(OnnxArgMax, FeedsAGather) {
  // y = x[argmax(x)]
  const LoadedModel loaded = read(x_and_y({4}) + node_text("ArgMax", {"x"}, {"at"}, integer_attribute("keepdims", 0)) +
                                  node_text("Gather", {"x", "at"}, {"y"}));
  EXPECT_THAT(result(loaded, {3, 9, -1, 4}), ElementsAre(9));
}

TEST(OnnxArgMax, FindsTheLargestTokenAsTextEncodersOfClipDo) {
  const std::string ids = "input { name: \"x\" type { tensor_type { elem_type: 7 shape { dim { dim_value: 5 } } } } }";
  const auto of = [&](const std::string& type, const std::vector<std::int32_t>& tokens) {
    std::vector<float> bits;
    for (const std::int32_t token : tokens) bits.push_back(std::bit_cast<float>(token));
    const LoadedModel loaded = read(ids + output_text("y") + node_text(type, {"x"}, {"at"}) +
                                    node_text("Cast", {"at"}, {"y"}, integer_attribute("to", 1)));
    return result(loaded, bits);
  };
  EXPECT_THAT(of("ArgMax", {1, 7, 49407, 49407, -3}), ElementsAre(2));
  EXPECT_THAT(of("ArgMin", {1, 7, 49407, 49407, -3}), ElementsAre(4));
  EXPECT_THROW((void)of("ArgMax", {1, 1 << 24, (1 << 24) + 1, 0, 0}), DeviceError)
      << "as float32 the second and third would be equal";
}

TEST(OnnxCast, ComputesFloat64InFloat32) {
  const std::string x = "input { name: \"x\" type { tensor_type { elem_type: 11 shape { dim { dim_value: 2 } } } } }";
  const LoadedModel loaded =
      read(x + output_text("y") + node_text("Cast", {"x"}, {"f"}, integer_attribute("to", 1)) +
           node_text("Exp", {"f"}, {"e"}) + node_text("Cast", {"e"}, {"y"}, integer_attribute("to", 11)));
  EXPECT_THAT(result(loaded, {0, 1}), ElementsAre(1, testing::FloatNear(2.7182817F, 1e-6F)));
}

TEST(OnnxCast, KeepsAFloat64MaskFinite) {
  const std::string mask =
      fmt::format("initializer {{ name: \"mask\" data_type: 11 dims: 2 double_data: {} double_data: {} }}",
                  std::numeric_limits<double>::lowest(), std::numeric_limits<double>::lowest());
  const LoadedModel loaded = read(x_and_y({2}) + mask + node_text("Add", {"x", "mask"}, {"masked"}) +
                                  node_text("Softmax", {"masked"}, {"y"}, integer_attribute("axis", 0)));
  EXPECT_THAT(result(loaded, {0, 1}), ElementsAre(0.5F, 0.5F));
}

TEST(OnnxSplit, MakesEqualPartsOfWhichOnlyThoseReadAreComputed) {
  const std::string split = node_text("Split", {"x"}, {"a", "b", "c"}, integer_attribute("num_outputs", 3));
  const LoadedModel loaded = read(input_text("x", {5}) + output_text("b") + output_text("c") + split, 18);
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Slice", "Slice"));
  const auto outputs = evaluate(loaded, {{1, 2, 3, 4, 5}});
  ASSERT_TRUE(outputs);
  EXPECT_THAT(*outputs, ElementsAre(ElementsAre(3, 4), ElementsAre(5)));
}

TEST(OnnxSlice, StartsAndEndsWithinTheAxis) {
  const auto sliced = [](std::int64_t from, std::int64_t to, std::int64_t step) {
    const std::string ranges = integers_text("from", {1}, {from}) + integers_text("to", {1}, {to}) +
                               integers_text("axes", {1}, {0}) + integers_text("steps", {1}, {step});
    return result(read(x_and_y({3}) + ranges + node_text("Slice", {"x", "from", "to", "axes", "steps"}, {"y"})),
                  {10, 20, 30});
  };
  EXPECT_THAT(sliced(-5, 2, 1), ElementsAre(10, 20));
  EXPECT_THAT(sliced(-5, -1000, -1), ElementsAre(10));
  EXPECT_THAT(sliced(-1, std::numeric_limits<std::int64_t>::max(), -1), ElementsAre(30, 20, 10)) << "to the front";
  EXPECT_THAT(sliced(7, std::numeric_limits<std::int32_t>::max(), -2), ElementsAre(30, 10)) << "to the front";
}

TEST(OnnxConvTranspose, LaysWhatTheOutputIsLongerBehind) {
  const LoadedModel loaded =
      read(x_and_y({1, 1, 3}) + floats_text("w", {1, 1, 2}, {1, 1}) +
           node_text("ConvTranspose", {"x", "w"}, {"y"},
                     integers_attribute("strides", {4}) + integers_attribute("output_shape", {12})));
  EXPECT_THAT(result(loaded, {1, 2, 3}), ElementsAre(1, 1, 0, 0, 2, 2, 0, 0, 3, 3, 0, 0));
}

TEST(OnnxConvTranspose, OfAStrideLongerThanTheKernelHasWhatIsLeftBehindForTheSameSize) {
  for (const std::string_view side : {"SAME_UPPER", "SAME_LOWER"}) {
    const LoadedModel loaded = read(x_and_y({1, 1, 2}) + floats_text("w", {1, 1, 1}, {1}) +
                                    node_text("ConvTranspose", {"x", "w"}, {"y"},
                                              integers_attribute("strides", {3}) + text_attribute("auto_pad", side)));
    EXPECT_THAT(result(loaded, {1, 2}), ElementsAre(1, 0, 0, 2, 0, 0)) << side;
  }
}

TEST(OnnxSign, OfWholeNumbersIsOne) {
  const LoadedModel loaded = read(input_text("x", {3}, 6) + output_text("y") + node_text("Sign", {"x"}, {"s"}) +
                                  node_text("Cast", {"s"}, {"y"}, integer_attribute("to", 1)));
  EXPECT_THAT(result(loaded, {std::bit_cast<float>(-5), 0, std::bit_cast<float>(7)}), ElementsAre(-1, 0, 1));
}

TEST(OnnxMeanVarianceNormalization, DividesByTheDeviationOverItsAxes) {
  const LoadedModel loaded =
      read(x_and_y({2, 2}) + node_text("MeanVarianceNormalization", {"x"}, {"y"}, integers_attribute("axes", {-1})));
  EXPECT_THAT(result(loaded, {1, 3, 5, 5}), ElementsAre(-1, 1, 0, 0));
}

TEST(OnnxFolding, ComputesAnyOpOnConstants) {
  // sqrt([4 9]) + mean over an axis, then a product with x: only the product is left.
  const LoadedModel loaded = read(
      x_and_y({2}) + floats_text("c", {2}, {4, 9}) + floats_text("m", {2, 2}, {1, 3, 5, 7}) +
      node_text("Sqrt", {"c"}, {"root"}) +
      node_text("ReduceMean", {"m"}, {"mean"}, integers_attribute("axes", {1}) + integer_attribute("keepdims", 0)) +
      node_text("Add", {"root", "mean"}, {"sum"}) + node_text("Mul", {"x", "sum"}, {"y"}));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Mul"));
  EXPECT_THAT(result(loaded, {1, 10}), ElementsAre(4, 90));
}

TEST(OnnxFolding, ComputesTheWeightsOfAConvolution) {
  // Half of [2 4] as the kernels of two channels, negated; x doubled by nothing else.
  const LoadedModel loaded =
      read(x_and_y({1, 2, 1, 2}) + floats_text("w", {2}, {2, 4}) + floats_text("half", {}, {0.5}) +
           integers_text("shape", {4}, {1, 2, 1, 1}) + node_text("Mul", {"w", "half"}, {"m"}) +
           node_text("Neg", {"m"}, {"n"}) + node_text("Reshape", {"n", "shape"}, {"kernel"}) +
           node_text("Conv", {"x", "kernel"}, {"y"}));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Convolution"));
  EXPECT_THAT(result(loaded, {1, 10, 100, 1000}), ElementsAre(-201, -2010));
}

TEST(OnnxReader, LeavesOutIdentitiesDropoutsAndCastsToTheSameType) {
  const LoadedModel loaded =
      read(x_and_y({3}) + node_text("Identity", {"x"}, {"a"}) + node_text("Dropout", {"a"}, {"b"}) +
           node_text("Relu", {"b"}, {"c"}) + node_text("Cast", {"c"}, {"d"}, integer_attribute("to", 1)) +
           node_text("Identity", {"d"}, {"e"}) + node_text("Neg", {"e"}, {"f"}) + node_text("Identity", {"f"}, {"y"}));
  const LoadedModel simple = simplify(loaded);
  EXPECT_THAT(op_types(simple.model), ElementsAre("Relu"));
  EXPECT_THAT(simple.model.ops[0].post_ops, ElementsAre(PostOp(Activation{ActivationKind::kNeg})));
  EXPECT_THAT(result(simplify(loaded), {-1, 2, 3}), ElementsAre(0, -2, -3));
}

TEST(OnnxReader, LeavesOutNodesThatNoOutputNeeds) {
  const LoadedModel loaded = read(x_and_y({2}) + node_text("Exp", {"x"}, {"a"}) + node_text("Sqrt", {"a"}, {"unread"}) +
                                  node_text("Relu", {"x"}, {"y"}));
  const LoadedModel simple = simplify(loaded);
  EXPECT_THAT(op_types(simple.model), ElementsAre("Relu"));
  EXPECT_EQ(simple.model.tensors.size(), 2U);
  EXPECT_THAT(result(simple, {-1, 2}), ElementsAre(0, 2));
}

TEST(OnnxFolding, ComputesTheNumberOfElementsFromAShape) {
  const LoadedModel loaded = read(x_and_y({2, 3}) + integers_text("one", {1}, {1}) +
                                  node_text("Shape", {"x"}, {"shape"}) + node_text("ReduceProd", {"shape"}, {"count"}) +
                                  node_text("Concat", {"one", "count"}, {"target"}, integer_attribute("axis", 0)) +
                                  node_text("Reshape", {"x", "target"}, {"y"}));
  EXPECT_EQ(loaded.model.tensor(loaded.model.outputs[0]).shape, (Shape{1, 6}));
}

TEST(OnnxMatMul, MultipliesTwoTensorsThatAreComputed) {
  const LoadedModel loaded =
      read(x_and_y({2, 2}) + node_text("Transpose", {"x"}, {"t"}) + node_text("MatMul", {"x", "t"}, {"y"}));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Transpose", "MatMul"));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4}), ElementsAre(5, 11, 11, 25));
}

TEST(OnnxCast, StopsWhereAConstantDoesNotFitAtRunTime) {
  EXPECT_THAT(
      problem(input_text("x", {1}) + output_text("y") + integers_text("big", {1}, {std::int64_t{1} << 40}) +
              node_text("Cast", {"x"}, {"n"}, integer_attribute("to", 7)) + node_text("Add", {"n", "big"}, {"y"})),
      HasSubstr("constant big holds 1099511627776, which does not fit 32 bits"));
}

TEST(OnnxGiven, TakesAnInputAsAConstantOnlyWhereAnOpNeedsIt) {
  const std::string bytes = onnx_model(
      13, input_text("x", {2, 3}) +
              " input { name: \"shape\" type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } }" +
              output_text("y") + node_text("Reshape", {"x", "shape"}, {"y"}));
  EXPECT_THAT(onnx::parse_model(bytes, {}).error().message,
              HasSubstr("input shape (shape) is not constant, which is not supported"));
  const std::map<std::string, onnx::NamedTensor> given{{"x", {"x", {2, 3}, {0, 1, 2, 3, 4, 5}, {}, false}},
                                                       {"shape", {"shape", {2}, {}, {3, 2}, true}}};
  onnx::ReadOptions options;
  options.given = &given;
  const auto loaded = onnx::parse_model(bytes, options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->model.inputs.size(), 1U);
  EXPECT_EQ(loaded->model.tensor(loaded->model.inputs[0]).name, "x");
  EXPECT_EQ(loaded->model.tensor(loaded->model.outputs[0]).shape, (Shape{3, 2}));
}

TEST(OnnxNothing, IsReadJoinedReducedAndCountedButNeverComputed) {
  const LoadedModel loaded =
      read(x_and_y({2, 3}) + output_text("none") + integers_text("three", {1}, {3}) + integers_text("one", {1}, {1}) +
           node_text("Slice", {"x", "three", "three", "one"}, {"empty"}) + node_text("Relu", {"empty"}, {"still"}) +
           node_text("Concat", {"still", "x"}, {"y"}, integer_attribute("axis", 1)) +
           node_text("Relu", {"still"}, {"none"}));
  EXPECT_EQ(loaded.model.tensor(loaded.model.outputs[1]).shape, (Shape{2, 0}));
  EXPECT_TRUE(validate(loaded.model));
  const LoadedModel simple = simplify(loaded);
  const auto outputs = evaluate(simple, {{1, 2, 3, 4, 5, 6}});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_THAT(*outputs, ElementsAre(ElementsAre(1, 2, 3, 4, 5, 6), ElementsAre()));
}

TEST(OnnxNothing, IsNoOperandOfAProduct) {
  const std::string graph = x_and_y({2, 3}) + integers_text("three", {1}, {3}) + integers_text("one", {1}, {1}) +
                            node_text("Slice", {"x", "three", "three", "one"}, {"left"}) +
                            floats_text("right", {0, 2}, {}) + node_text("MatMul", {"left", "right"}, {"y"});
  EXPECT_THAT(problem(graph), HasSubstr("MatMul, opset 13): reads a tensor without elements, which is not supported"));
}

TEST(OnnxGraph, HasANameThatCanNameAFolder) {
  const std::string graph = x_and_y({4}) + node_text("Neg", {"x"}, {"y"});
  EXPECT_EQ(read(graph + " name: \"cut at {fc/bias}\"").model.name, "cut at {fc_bias}");
  EXPECT_EQ(read(graph + " name: \"./net\"").model.name, "__net");
  EXPECT_EQ(read(graph).model.name, "onnx");
}

TEST(OnnxMod, HasTheSignOfTheDivisorUnlessItIsCsRemainder) {
  const auto mod = [](std::int64_t fmod) {
    return read(x_and_y({4}) + integers_text("b", {4}, {3, -3, 3, -3}) +
                node_text("Cast", {"x"}, {"a"}, integer_attribute("to", 6)) +
                node_text("Mod", {"a", "b"}, {"m"}, integer_attribute("fmod", fmod)) +
                node_text("Cast", {"m"}, {"y"}, integer_attribute("to", 1)));
  };
  EXPECT_THAT(result(mod(0), {4, 4, -4, -4}), ElementsAre(1, -2, 2, -1));
  EXPECT_THAT(result(mod(1), {4, 4, -4, -4}), ElementsAre(1, 1, -1, -1));
}

TEST(OnnxAttention, OfOneQueryThatSeesOneKeyIsItsValueAndOfNoneIsZero) {
  const std::string qkv =
      input_text("x", {1, 1, 2, 2}) + output_text("y") + floats_text("v", {1, 1, 2, 2}, {1, 2, 3, 4});
  const LoadedModel causal =
      read(qkv + node_text("Attention", {"x", "x", "v"}, {"y"}, integer_attribute("is_causal", 1)), 23);
  const std::vector<float> y = result(causal, {5, 6, 7, 8});
  EXPECT_THAT((std::vector<float>{y[0], y[1]}), ElementsAre(1, 2));
  const LoadedModel blind = read(qkv + integers_text("seen", {2, 2}, {0, 0, 1, 0}) +
                                     node_text("Cast", {"seen"}, {"mask"}, integer_attribute("to", 9)) +
                                     node_text("Attention", {"x", "x", "v", "mask"}, {"y"}),
                                 23);
  EXPECT_THAT(result(blind, {5, 6, 7, 8}), ElementsAre(0, 0, 1, 2));
}

TEST(OnnxAttention, AddsAMaskOfWholeNumbersAsItDoesOthers) {
  const std::string qkv = input_text("x", {1, 1, 1, 1}) + output_text("y") + floats_text("k", {1, 1, 2, 1}, {1, 1}) +
                          floats_text("v", {1, 1, 2, 1}, {0, 1});
  const LoadedModel loaded =
      read(qkv + integers_text("mask", {1, 2}, {0, 1}) + node_text("Attention", {"x", "k", "v", "mask"}, {"y"}), 23);
  const std::string cast = integers_text("given", {1, 2}, {0, 1}) +
                           node_text("Cast", {"given"}, {"mask"}, integer_attribute("to", 7)) +
                           node_text("Attention", {"x", "k", "v", "mask"}, {"y"});
  EXPECT_EQ(result(read(qkv + cast, 23), {5}), result(loaded, {5}));
  EXPECT_THAT(result(loaded, {5}), ElementsAre(testing::FloatNear(std::exp(1.0F) / (1 + std::exp(1.0F)), 1e-6F)));
}

TEST(OnnxGatherElements, CountsIndicesBelowZeroFromTheEnd) {
  const LoadedModel loaded = read(x_and_y({2, 3}) + integers_text("at", {2, 2}, {-1, 0, 1, -3}) +
                                  node_text("GatherElements", {"x", "at"}, {"y"}, integer_attribute("axis", 1)));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4, 5, 6}), ElementsAre(3, 1, 5, 4));
}

TEST(OnnxGatherElements, TakesTheElementsAtComputedIndicesAndStopsAtOneOutside) {
  for (const std::int64_t axis : {0, 1}) {
    const LoadedModel loaded = read(input_text("x", {2, 3}) + input_text("f", {2, 2}) + output_text("y") +
                                    node_text("Cast", {"f"}, {"at"}, integer_attribute("to", 7)) +
                                    node_text("GatherElements", {"x", "at"}, {"y"}, integer_attribute("axis", axis)));
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    const auto y = evaluate(loaded, {x, {-1, 0, 1, -2}});
    ASSERT_TRUE(y) << y.error().message;
    EXPECT_EQ(y->front(), axis == 0 ? (std::vector<float>{4, 2, 4, 2}) : (std::vector<float>{3, 1, 5, 5}));
    for (const float outside : {3.0F, -4.0F}) {
      EXPECT_THAT(
          [&] {
            (void)evaluate(loaded, {x, {0, 1, outside, 0}});
          },
          ThrowsMessage<DeviceError>(HasSubstr(fmt::format("index {} is outside of", outside))));
    }
  }
  EXPECT_THAT(problem(x_and_y({2, 3}) + integers_text("at", {2, 2}, {0, 3, 0, 0}) +
                      node_text("GatherElements", {"x", "at"}, {"y"}, integer_attribute("axis", 1))),
              HasSubstr("index 3 is outside of 3 entries"));
}

TEST(OnnxGatherND, StopsAtAnIndexOutsideOfItsAxis) {
  const LoadedModel loaded =
      read(input_text("x", {2, 3}) + input_text("f", {2, 2}) + output_text("y") +
           node_text("Cast", {"f"}, {"at"}, integer_attribute("to", 7)) + node_text("GatherND", {"x", "at"}, {"y"}));
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const auto y = evaluate(loaded, {x, {1, -1, -2, 1}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_THAT(y->front(), ElementsAre(6, 2));
  EXPECT_THROW((void)evaluate(loaded, {x, {0, 3, 0, 0}}), DeviceError);  // the fourth element, but for its axis
  EXPECT_THROW((void)evaluate(loaded, {x, {0, 0, 2, 0}}), DeviceError);
  EXPECT_THAT(
      problem(x_and_y({2, 3}) + integers_text("at", {2, 2}, {0, 2, 2, 0}) + node_text("GatherND", {"x", "at"}, {"y"})),
      HasSubstr("index 2 is outside of 2 entries"));
}

TEST(OnnxPad, CutsOffFirstAndRepeatsWhatIsLeft) {
  const auto pad = [](std::string_view mode, const std::vector<std::int64_t>& pads) {
    return x_and_y({4}) + integers_text("pads", {2}, pads) +
           node_text("Pad", {"x", "pads"}, {"y"}, text_attribute("mode", mode));
  };
  EXPECT_THAT(result(read(pad("wrap", {-1, 2}), 19), {1, 2, 3, 4}), ElementsAre(2, 3, 4, 2, 3));
  EXPECT_THAT(result(read(pad("reflect", {1, -1}), 19), {1, 2, 3, 4}), ElementsAre(2, 1, 2, 3));
  EXPECT_THAT(result(read(pad("constant", {-2, 1}), 19), {1, 2, 3, 4}), ElementsAre(3, 4, 0));
  EXPECT_THAT(problem(pad("edge", {-4, 2}), 19), HasSubstr("nothing is left of dimension 0 to fill up with"));
}

/// Blocks of an image of two axes, summed where they overlap.
struct Blocks {
  std::array<std::int64_t, 2> image, block, stride, dilation, pad_begin, pad_end;

  [[nodiscard]] std::int64_t count(std::size_t i) const {
    const std::int64_t room = image[i] + pad_begin[i] + pad_end[i] - dilation[i] * (block[i] - 1) - 1;
    return room / stride[i] + 1;
  }

  /// Element by element, of `x` [1, channels * places, blocks].
  [[nodiscard]] std::vector<float> summed(const std::vector<float>& x, std::int64_t channels) const {
    std::vector<float> y(static_cast<std::size_t>(channels * image[0] * image[1]), 0.0F);
    std::size_t next = 0;
    for (std::int64_t row = 0; row < channels * block[0] * block[1]; ++row) {
      const std::int64_t place = row % (block[0] * block[1]);
      for (std::int64_t of = 0; of < count(0) * count(1); ++of, ++next) {
        const std::int64_t h = of / count(1) * stride[0] - pad_begin[0] + place / block[1] * dilation[0];
        const std::int64_t w = of % count(1) * stride[1] - pad_begin[1] + place % block[1] * dilation[1];
        if (h < 0 || w < 0 || h >= image[0] || w >= image[1]) continue;
        const std::int64_t at = (row / (block[0] * block[1]) * image[0] + h) * image[1] + w;
        y[static_cast<std::size_t>(at)] += x[next];
      }
    }
    return y;
  }
};

std::string col2im(const Blocks& of, const Shape& x) {
  const auto list = [](const std::array<std::int64_t, 2>& pair) { return std::vector<std::int64_t>{pair[0], pair[1]}; };
  const std::string attributes =
      integers_attribute("strides", list(of.stride)) + integers_attribute("dilations", list(of.dilation)) +
      integers_attribute("pads", {of.pad_begin[0], of.pad_begin[1], of.pad_end[0], of.pad_end[1]});
  return x_and_y(x) + node_text("Col2Im", {"x", "image", "block"}, {"y"}, attributes) +
         integers_text("image", {2}, list(of.image)) + integers_text("block", {2}, list(of.block));
}

TEST(OnnxCol2Im, SumsBlocksWhereTheyOverlap) {
  for (const Blocks& of :
       {Blocks{{5, 5}, {1, 5}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, Blocks{{4, 5}, {2, 3}, {1, 2}, {1, 1}, {0, 0}, {0, 0}},
        Blocks{{7, 6}, {3, 2}, {2, 3}, {2, 1}, {1, 0}, {0, 2}}}) {
    const std::int64_t channels = 3;
    const Shape shape{1, channels * of.block[0] * of.block[1], of.count(0) * of.count(1)};
    std::vector<float> x(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 2;
    const LoadedModel loaded = read(col2im(of, shape), 18);
    EXPECT_EQ(loaded.model.tensor(loaded.model.outputs[0]).shape, (Shape{1, channels, of.image[0], of.image[1]}));
    EXPECT_EQ(result(loaded, x), of.summed(x, channels));
  }
}

TEST(OnnxCol2Im, SaysWhichBlocksDoNotFit) {
  const Blocks large{{4, 4}, {5, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}};
  EXPECT_THAT(problem(col2im(large, {1, 5, 4}), 18), HasSubstr("blocks [5, 1] do not fit the image [4, 4]"));
  const Blocks of{{4, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}};
  EXPECT_THAT(problem(col2im(of, {1, 6, 4}), 18), HasSubstr("input 0 must be [N, C * 4, 4]"));
  Blocks none = of;
  none.block[1] = 0;
  EXPECT_THAT(problem(col2im(none, {1, 4, 4}), 18), HasSubstr("must hold numbers from 1 to"));
  none.block[1] = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(problem(col2im(none, {1, 4, 4}), 18), HasSubstr("must hold numbers from 1 to"));
}

/// y: x as whole numbers, `offset` added, reduced, `offset` taken away.
std::vector<float> reduced_whole(std::string_view type, const Shape& shape, const std::vector<float>& x,
                                 std::string_view attributes, std::int64_t offset = 0) {
  const std::string graph =
      x_and_y(shape) + integers_text("offset", {1}, {offset}) +
      node_text("Cast", {"x"}, {"whole"}, integer_attribute("to", 7)) + node_text("Add", {"whole", "offset"}, {"far"}) +
      node_text(type, {"far"}, {"reduced"}, attributes) + node_text("Sub", {"reduced", "offset"}, {"near"}) +
      node_text("Cast", {"near"}, {"y"}, integer_attribute("to", 1));
  return result(read(graph, 11), x);
}

TEST(OnnxReduce, CombinesWholeNumbersExactly) {
  const Shape shape{2, 5, 2};
  const std::vector<float> x{1, -2, 3, 4, 5, -6, 7, 8, 9, 10, 2, 1, -1, 0, 3, 3, -3, 2, 1, 1};
  const std::string middle = integers_attribute("axes", {1});
  EXPECT_THAT(reduced_whole("ReduceSum", shape, x, middle), ElementsAre(25, 14, 2, 7));
  EXPECT_THAT(reduced_whole("ReduceMax", shape, x, middle), ElementsAre(9, 10, 3, 3));
  EXPECT_THAT(reduced_whole("ReduceMin", shape, x, middle), ElementsAre(1, -6, -3, 0));
  EXPECT_THAT(reduced_whole("ReduceMean", shape, x, middle), ElementsAre(5, 2, 0, 1));
  EXPECT_THAT(reduced_whole("ReduceMean", {1, 5}, {-3, -1, 0, -2, -1}, integers_attribute("axes", {1})),
              ElementsAre(-1));
  EXPECT_THAT(reduced_whole("ReduceSum", {2, 1}, {3, -4}, integers_attribute("axes", {1})), ElementsAre(3, -4));
  EXPECT_THAT(reduced_whole("ReduceL1", shape, x, middle), ElementsAre(25, 30, 10, 7));
  EXPECT_THAT(reduced_whole("ReduceSumSquare", shape, x, middle), ElementsAre(165, 220, 24, 15));
  const std::string outer = integers_attribute("axes", {0, -1}) + integer_attribute("keepdims", 0);
  EXPECT_THAT(reduced_whole("ReduceProd", shape, x, outer), ElementsAre(-4, 0, -270, -336, 90));
  // 2^24 + 1 is no float32.
  EXPECT_THAT(reduced_whole("ReduceMax", {1, 3}, {-1, 1, 0}, integers_attribute("axes", {1}), 1 << 24), ElementsAre(1));
}

TEST(OnnxReduce, WithoutAxesComputesEveryElementByItself) {
  const auto each = [](std::string_view type) {
    return result(read(x_and_y({3}) + node_text(type, {"x"}, {"y"}, integer_attribute("noop_with_empty_axes", 1)), 18),
                  {-3, 2, 0.5F});
  };
  EXPECT_THAT(each("ReduceSum"), ElementsAre(-3, 2, 0.5F));
  EXPECT_THAT(each("ReduceLogSumExp"), ElementsAre(-3, 2, 0.5F));
  EXPECT_THAT(each("ReduceL1"), ElementsAre(3, 2, 0.5F));
  EXPECT_THAT(each("ReduceL2"), ElementsAre(3, 2, 0.5F));
  EXPECT_THAT(each("ReduceSumSquare"), ElementsAre(9, 4, 0.25F));
  const std::string whole = x_and_y({2}) + node_text("Cast", {"x"}, {"i"}, integer_attribute("to", 7)) +
                            node_text("ReduceSumSquare", {"i"}, {"s"}, integer_attribute("noop_with_empty_axes", 1)) +
                            node_text("Cast", {"s"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(result(read(whole, 18), {-3, 2}), ElementsAre(9, 4));
}

TEST(OnnxEyeLike, HasOnesOnItsDiagonal) {
  const auto eye = [](std::string_view attributes) {
    return result(read(x_and_y({2, 3}) + node_text("EyeLike", {"x"}, {"eye"}, attributes) +
                       node_text("Add", {"x", "eye"}, {"y"})),
                  {0, 0, 0, 0, 0, 0});
  };
  EXPECT_THAT(eye(""), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(eye(integer_attribute("k", 1)), ElementsAre(0, 1, 0, 0, 0, 1));
  EXPECT_THAT(eye(integer_attribute("k", -1)), ElementsAre(0, 0, 0, 1, 0, 0));
  const std::string whole = x_and_y({2, 2}) + node_text("Cast", {"x"}, {"i"}, integer_attribute("to", 7)) +
                            node_text("EyeLike", {"i"}, {"eye"}) + node_text("Add", {"i", "eye"}, {"sum"}) +
                            node_text("Cast", {"sum"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(result(read(whole), {1, 2, 3, 4}), ElementsAre(2, 2, 3, 5));
  EXPECT_THAT(problem(x_and_y({2}) + node_text("EyeLike", {"x"}, {"y"})), HasSubstr("takes matrices, not [2]"));
}

TEST(OnnxReader, RefusesANodeWithoutOutputs) {
  EXPECT_THAT(problem(x_and_y({2}) + node_text("Split", {"x"}, {}) + node_text("Relu", {"x"}, {"y"})),
              HasSubstr("(Split, opset 13): has no outputs"));
}

}  // namespace
}  // namespace cohort
