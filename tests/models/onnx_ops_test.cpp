#include <gmock/gmock.h>

#include <numeric>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using testing::UnorderedElementsAre;

LoadedModel read(const std::string& bytes, std::int64_t minibatch = 1) {
  Result<LoadedModel> loaded = onnx::parse_model(bytes, {minibatch});
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *std::move(loaded) : LoadedModel{};
}

std::string problem(const std::string& bytes) {
  const Result<LoadedModel> loaded = onnx::parse_model(bytes, {});
  return loaded ? std::string("read") : loaded.error().message;
}

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const Op& op : model.ops) types.emplace_back(op_type(op.attributes));
  return types;
}

/// The first output's values for one input.
std::vector<float> result(const LoadedModel& loaded, const std::vector<float>& x) {
  const auto outputs = evaluate(loaded, {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? outputs->front() : std::vector<float>();
}

Shape output_shape(const LoadedModel& loaded) { return loaded.model.tensor(loaded.model.outputs[0]).shape; }

/// A model of one node with input x and output y.
std::string one_node(int opset, std::string_view type, const Shape& x, const std::vector<std::string>& inputs,
                     std::string_view attributes, std::string_view initializers = "") {
  return onnx_model(opset, input_text("x", x) + output_text("y") + node_text(type, inputs, {"y"}, attributes) +
                               std::string(initializers));
}

TEST(OnnxGemm, FoldsAlphaAndBetaIntoItsWeights) {
  // y = 2 * [1 2] * [[1 0] [0 3]]^T... with B as [in, out] and 0.5 * C.
  const LoadedModel loaded =
      read(one_node(13, "Gemm", {1, 2}, {"x", "B", "C"}, float_attribute("alpha", 2) + float_attribute("beta", 0.5F),
                    floats_text("B", {2, 3}, {1, 2, 3, 4, 5, 6}) + floats_text("C", {1, 3}, {10, 20, 30})));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Gemm"));
  EXPECT_THAT(result(loaded, {1, 2}), ElementsAre(2 * (1 + 8) + 5, 2 * (2 + 10) + 10, 2 * (3 + 12) + 15));
}

TEST(OnnxResize, MakesAsManyElementsAsFloat32ArithmeticSays) {
  // As TensorFlow's exporter writes 50 to 32. The float32 nearest to 0.64 is below it: in float64 there would be 31.
  const std::string scales = floats_text("scales", {4}, {1, 1, 0.64F, 0.8F});
  for (const std::string_view mode : {"linear", "nearest"}) {
    EXPECT_EQ(output_shape(read(
                  one_node(17, "Resize", {1, 1, 50, 40}, {"x", "", "scales"}, text_attribute("mode", mode), scales))),
              (Shape{1, 1, 32, 32}));
  }
  EXPECT_EQ(output_shape(read(one_node(9, "Upsample", {1, 1, 50, 40}, {"x", "scales"}, "", scales))),
            (Shape{1, 1, 32, 32}));
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

TEST(OnnxResize, TakesTheElementsThatFloat32ArithmeticSays) {
  // As ONNX Runtime does: 2 / 0.4 is 5, and a little less in float64.
  const std::string attributes = text_attribute("mode", "nearest") + text_attribute("nearest_mode", "floor") +
                                 text_attribute("coordinate_transformation_mode", "asymmetric");
  const LoadedModel loaded = read(one_node(18, "Resize", {1, 1, 1, 17}, {"x", "", "scales"}, attributes,
                                           floats_text("scales", {4}, {1, 1, 1, 0.4F})));
  EXPECT_THAT(result(loaded, counting(17)), ElementsAre(0, 2, 5, 7, 10, 12));
}

TEST(OnnxResize, RoundsUpAlongAxesThatShrinkInOpset10) {
  const auto resized = [](std::vector<float> scales) {
    return result(read(one_node(10, "Resize", {1, 1, 2, 5}, {"x", "scales"}, text_attribute("mode", "nearest"),
                                floats_text("scales", {4}, std::move(scales)))),
                  counting(10));
  };
  EXPECT_THAT(resized({1, 1, 1, 0.6F}), ElementsAre(0, 2, 4, 5, 7, 9));
  EXPECT_THAT(resized({1, 1, 1.5F, 0.6F}), ElementsAre(0, 2, 4, 0, 2, 4, 5, 7, 9));
  EXPECT_THAT(resized({1, 1, 2, 1}), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8, 9));
}

TEST(OnnxResize, AlignsTheCornersOfWhatHasTheRoundedLength) {
  // 5 * 1.3 are 6 elements, the last of which is the last. ONNX's own test of this divides by the length before it was
  // rounded, PyTorch and ONNX Runtime by the length that there is.
  const std::string attributes =
      text_attribute("mode", "linear") + text_attribute("coordinate_transformation_mode", "align_corners");
  const LoadedModel loaded = read(one_node(18, "Resize", {1, 1, 1, 5}, {"x", "", "scales"}, attributes,
                                           floats_text("scales", {4}, {1, 1, 1, 1.3F})));
  EXPECT_THAT(result(loaded, counting(5)), Pointwise(testing::FloatEq(), {0.0F, 0.8F, 1.6F, 2.4F, 3.2F, 4.0F}));
}

TEST(OnnxGemm, AddsAMatrixThatIsNoBias) {
  const LoadedModel loaded = read(one_node(7, "Gemm", {2, 1}, {"x", "B", "C"}, float_attribute("beta", 2),
                                           floats_text("B", {1, 2}, {1, 2}) + floats_text("C", {2, 1}, {10, 20})));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Gemm", "Add"));
  EXPECT_THAT(result(loaded, {1, 3}), ElementsAre(21, 22, 43, 46));
}

TEST(OnnxGemm, NamesWhatItCannotDo) {
  EXPECT_THAT(problem(one_node(13, "Gemm", {2, 3}, {"x", "B"}, "", floats_text("B", {2, 2}, {1, 2, 3, 4}))),
              HasSubstr("x [2, 3] has 3 features a sample, but w [2, 2] takes 2"));
}

TEST(OnnxMatMul, TreatsLeadingDimensionsAsRows) {
  const LoadedModel loaded = read(one_node(13, "MatMul", {2, 2, 2}, {"x", "B"}, "", floats_text("B", {2, 1}, {1, 10})));
  EXPECT_EQ(output_shape(loaded), (Shape{2, 2, 1}));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4, 5, 6, 7, 8}), ElementsAre(21, 43, 65, 87));
}

TEST(OnnxBinary, AlignsItsSecondOperandByAxisBeforeOpset7) {
  const std::string attributes = integer_attribute("broadcast", 1) + integer_attribute("axis", 1);
  const LoadedModel loaded =
      read(one_node(6, "Add", {1, 2, 2}, {"x", "b"}, attributes, floats_text("b", {2}, {10, 20})));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4}), ElementsAre(11, 12, 23, 24));
  EXPECT_THAT(problem(one_node(6, "Add", {1, 2, 2}, {"x", "b"}, "", floats_text("b", {2}, {10, 20}))),
              HasSubstr("attribute broadcast is not set"));
}

TEST(OnnxBinary, BroadcastsAsNumpyDoesFromOpset7On) {
  const LoadedModel loaded = read(one_node(7, "Sub", {1, 2, 2}, {"x", "b"}, "", floats_text("b", {2}, {10, 20})));
  EXPECT_THAT(result(loaded, {1, 2, 3, 4}), ElementsAre(-9, -18, -7, -16));
  EXPECT_THAT(
      problem(one_node(7, "Sub", {1, 2, 2}, {"x", "b"}, integer_attribute("axis", 1), floats_text("b", {2}, {10, 20}))),
      HasSubstr("attribute axis is not supported"));
}

TEST(OnnxSum, AddsAllItsInputs) {
  const LoadedModel loaded = read(one_node(8, "Sum", {2}, {"x", "x", "b"}, "", floats_text("b", {1}, {100})));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Add", "Add"));
  EXPECT_THAT(result(loaded, {1, 2}), ElementsAre(102, 104));
}

TEST(OnnxClip, TakesItsBoundsFromAttributesOrInputs) {
  const LoadedModel old = read(one_node(6, "Clip", {3}, {"x"}, float_attribute("min", -1) + float_attribute("max", 2)));
  EXPECT_THAT(result(old, {-5, 0, 5}), ElementsAre(-1, 0, 2));
  const LoadedModel recent = read(one_node(13, "Clip", {3}, {"x", "", "max"}, "", floats_text("max", {}, {2})));
  EXPECT_THAT(result(recent, {-5, 0, 5}), ElementsAre(-5, 0, 2));
}

TEST(OnnxSoftmax, JoinsItsLastAxesBeforeOpset13) {
  const LoadedModel joined = read(one_node(11, "Softmax", {1, 2, 2}, {"x"}, integer_attribute("axis", 1)));
  EXPECT_THAT(result(joined, {0, 0, 0, 0}), ElementsAre(0.25F, 0.25F, 0.25F, 0.25F));
  EXPECT_EQ(output_shape(joined), (Shape{1, 2, 2}));
  const LoadedModel apart = read(one_node(13, "Softmax", {1, 2, 2}, {"x"}, integer_attribute("axis", 1)));
  EXPECT_THAT(result(apart, {0, 0, 0, 0}), ElementsAre(0.5F, 0.5F, 0.5F, 0.5F));
  const LoadedModel ones = read(one_node(9, "Softmax", {1, 2, 1, 1}, {"x"}, ""));
  EXPECT_THAT(op_types(ones.model), ElementsAre("Softmax"));
}

TEST(OnnxConv, PadsForTheSameSizeOnTheSideAskedFor) {
  const auto pads = [](const char* auto_pad) {
    const LoadedModel loaded = read(one_node(11, "Conv", {1, 1, 5, 5}, {"x", "w"}, text_attribute("auto_pad", auto_pad),
                                             floats_text("w", {1, 1, 2, 2}, {1, 1, 1, 1})));
    EXPECT_EQ(output_shape(loaded)[2], std::string_view(auto_pad) == "VALID" ? 4 : 5);
    const auto& window = std::get<Convolution>(loaded.model.ops[0].attributes).window;
    return std::pair(window.pad_begin[0], window.pad_end[0]);
  };
  EXPECT_EQ(pads("SAME_UPPER"), std::pair(std::int64_t{0}, std::int64_t{1}));
  EXPECT_EQ(pads("SAME_LOWER"), std::pair(std::int64_t{1}, std::int64_t{0}));
  EXPECT_EQ(pads("VALID"), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST(OnnxConv, RefusesAttributesItDoesNotKnow) {
  EXPECT_THAT(problem(one_node(11, "Conv", {1, 1, 5, 5}, {"x", "w"}, integer_attribute("mystery", 1),
                               floats_text("w", {1, 1, 1, 1}, {1}))),
              HasSubstr("attribute mystery is not supported"));
  EXPECT_THAT(problem(one_node(11, "Conv", {1, 1, 5, 5}, {"x", "w"}, text_attribute("group", "two"),
                               floats_text("w", {1, 1, 1, 1}, {1}))),
              HasSubstr("attribute group must be a whole number, not text"));
}

TEST(OnnxPool, FindsIndicesOnlyWhereSomebodyReadsThem) {
  const std::string kernel = integers_attribute("kernel_shape", {2, 2});
  const std::string pool = node_text("MaxPool", {"x"}, {"y", "indices"}, kernel);
  const std::string x = input_text("x", {1, 1, 4, 4});
  EXPECT_THAT(op_types(read(onnx_model(12, x + output_text("y") + pool)).model), ElementsAre("MaxPool"));
  const LoadedModel both = read(onnx_model(12, x + output_text("y") + output_text("indices") + pool));
  EXPECT_THAT(op_types(both.model), UnorderedElementsAre("MaxPool", "MaxPoolIndices"));
  EXPECT_EQ(both.model.tensor(both.model.outputs[1]).element, ElementType::kInt32);
}

TEST(OnnxLstm, ReadsOneDirectionAndTakesTheSqueezeBehindIt) {
  std::vector<float> w(8 * 3, 0.1F);
  std::vector<float> r(8 * 2, 0.2F);
  std::vector<float> b(16);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i);
  const std::string weights =
      floats_text("W", {1, 8, 3}, w) + floats_text("R", {1, 8, 2}, r) + floats_text("B", {1, 16}, b);
  const std::string lstm = node_text("LSTM", {"x", "W", "R", "B"}, {"states"}, integer_attribute("hidden_size", 2));
  const LoadedModel squeezed =
      read(onnx_model(9, input_text("x", {5, 4, 3}) + output_text("y") + weights + lstm +
                             node_text("Squeeze", {"states"}, {"y"}, integers_attribute("axes", {1}))));
  EXPECT_THAT(op_types(squeezed.model), ElementsAre("Lstm"));
  EXPECT_EQ(output_shape(squeezed), (Shape{5, 4, 2}));
  const std::vector<float>& bias = *squeezed.weights.of(squeezed.model.ops[0].inputs[3]);
  EXPECT_THAT(bias, ElementsAre(8, 10, 12, 14, 16, 18, 20, 22));

  const LoadedModel plain = read(onnx_model(9, input_text("x", {5, 4, 3}) + output_text("states") + weights + lstm));
  EXPECT_THAT(op_types(plain.model), ElementsAre("Lstm", "Reshape"));
  EXPECT_EQ(output_shape(plain), (Shape{5, 1, 4, 2}));

  const std::string last = node_text("LSTM", {"x", "W", "R", "B"}, {"", "last"}, integer_attribute("hidden_size", 2));
  const LoadedModel state = read(onnx_model(9, input_text("x", {5, 4, 3}) + output_text("last") + weights + last));
  EXPECT_THAT(op_types(state.model), ElementsAre("LSTM", "Slice", "Reshape"));
  EXPECT_EQ(output_shape(state), (Shape{1, 4, 2}));
}

TEST(OnnxFolding, FollowsShapeArithmeticToAReshape) {
  // Reshape(x, Concat(Unsqueeze(Gather(Shape(x), 0)), [-1])), as PyTorch writes view(x.size(0), -1).
  const LoadedModel loaded =
      read(onnx_model(11, input_text("x", {-1, 3, 4}) + output_text("y") + integers_text("zero", {}, {0}) +
                              integers_text("rest", {1}, {-1}) + node_text("Shape", {"x"}, {"shape"}) +
                              node_text("Gather", {"shape", "zero"}, {"n"}, integer_attribute("axis", 0)) +
                              node_text("Unsqueeze", {"n"}, {"list"}, integers_attribute("axes", {0})) +
                              node_text("Concat", {"list", "rest"}, {"target"}, integer_attribute("axis", 0)) +
                              node_text("Cast", {"target"}, {"cast"}, integer_attribute("to", 7)) +
                              node_text("Reshape", {"x", "cast"}, {"y"})),
           6);
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Reshape"));
  EXPECT_EQ(output_shape(loaded), (Shape{6, 12}));
}

TEST(OnnxFolding, ComputesSlicesTransposesAndArithmetic) {
  // [0 1 2 3 4 5] reversed in steps of 2 is [5 3 1]; times 2 plus [1 2 3] is [11 8 5].
  const std::string slice =
      integers_text("v", {6}, {0, 1, 2, 3, 4, 5}) + integers_text("from", {1}, {-1}) +
      integers_text("to", {1}, {-100}) + integers_text("axes", {1}, {0}) + integers_text("steps", {1}, {-2}) +
      integers_text("two", {}, {2}) + integers_text("more", {3}, {1, 2, 3}) +
      node_text("Slice", {"v", "from", "to", "axes", "steps"}, {"s"}) + node_text("Mul", {"s", "two"}, {"m"}) +
      node_text("Add", {"m", "more"}, {"a"}) + node_text("Cast", {"a"}, {"f"}, integer_attribute("to", 1));
  const LoadedModel sliced =
      read(onnx_model(13, input_text("x", {3}) + output_text("y") + slice + node_text("Mul", {"x", "f"}, {"y"})));
  EXPECT_THAT(result(sliced, {1, 1, 1}), ElementsAre(11, 8, 5));

  const LoadedModel transposed =
      read(onnx_model(13, input_text("x", {3, 2}) + output_text("y") + floats_text("c", {2, 3}, {1, 2, 3, 4, 5, 6}) +
                              node_text("Transpose", {"c"}, {"t"}) + node_text("Add", {"x", "t"}, {"y"})));
  EXPECT_THAT(result(transposed, {0, 0, 0, 0, 0, 0}), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(OnnxFolding, RefusesWholeNumbersThatOverflow) {
  const auto folded = [](std::string_view type, std::int64_t a, std::int64_t b) {
    return problem(onnx_model(13, input_text("x", {1}) + output_text("y") + integers_text("a", {1}, {a}) +
                                      integers_text("b", {1}, {b}) + node_text(type, {"a", "b"}, {"c"}) +
                                      node_text("Relu", {"x"}, {"y"})));
  };
  EXPECT_THAT(folded("Div", 1, 0), HasSubstr("divides by zero"));
  EXPECT_THAT(folded("Div", INT64_MIN, -1), HasSubstr("more than 64 bits"));
  EXPECT_THAT(folded("Mul", INT64_MAX, 2), HasSubstr("more than 64 bits"));
  EXPECT_EQ(folded("Add", 1, 2), "read");
}

TEST(OnnxReader, ReplacesAnOpenFirstDimensionByTheMinibatch) {
  const std::string bytes = one_node(13, "Relu", {-1, 3}, {"x"}, "");
  EXPECT_EQ(output_shape(read(bytes, 5)), (Shape{5, 3}));
  EXPECT_EQ(output_shape(read(one_node(13, "Relu", {2, 3}, {"x"}, ""), 5)), (Shape{2, 3}));
  EXPECT_THAT(problem(one_node(13, "Relu", {2, -1}, {"x"}, "")),
              HasSubstr("input x leaves dimension 1 open, which the file calls n; set it with --dim n=N"));
}

TEST(OnnxReader, ReplacesOtherOpenDimensionsByName) {
  const std::string bytes = one_node(13, "Relu", {2, -1}, {"x"}, "");
  onnx::ReadOptions options;
  options.dims = {{"n", 128}};
  EXPECT_EQ(output_shape(onnx::parse_model(bytes, options).value()), (Shape{2, 128}));
  options.dims = {{"n", 128}, {"seq", 3}};
  EXPECT_THAT(onnx::parse_model(bytes, options).error().message,
              HasSubstr("no input has an open dimension called seq"));
}

TEST(OnnxReader, CopiesAnOutputThatIsAnInputOrConstantOrTwoOutputs) {
  const LoadedModel identity = read(one_node(13, "Identity", {2}, {"x"}, ""));
  EXPECT_THAT(op_types(identity.model), ElementsAre("Reshape"));
  EXPECT_THAT(result(identity, {3, 4}), ElementsAre(3, 4));

  const LoadedModel constant =
      read(onnx_model(13, input_text("x", {1}) + output_text("c") + floats_text("c", {2}, {7, 8})));
  EXPECT_THAT(result(constant, {0}), ElementsAre(7, 8));

  const LoadedModel twice =
      read(onnx_model(13, input_text("x", {2}) + output_text("a") + output_text("b") + node_text("Relu", {"x"}, {"a"}) +
                              node_text("Dropout", {"a"}, {"b"})));
  const auto outputs = evaluate(twice, {{-1, 2}});
  ASSERT_TRUE(outputs);
  EXPECT_THAT(*outputs, ElementsAre(ElementsAre(0, 2), ElementsAre(0, 2)));
}

TEST(OnnxReader, SortsNodesThatStandInTheWrongOrder) {
  const LoadedModel loaded = read(onnx_model(
      13, input_text("x", {1}) + output_text("y") + node_text("Relu", {"m"}, {"y"}) + node_text("Tanh", {"x"}, {"m"})));
  EXPECT_THAT(op_types(loaded.model), ElementsAre("Tanh", "Relu"));
}

TEST(OnnxReader, KeepsNamesOfNodesAndOutputs) {
  const LoadedModel loaded = read(one_node(13, "Relu", {1}, {"x"}, ""));
  EXPECT_EQ(loaded.model.ops[0].name, "n_y");
  EXPECT_EQ(loaded.model.tensor(loaded.model.outputs[0]).name, "y");
}

TEST(OnnxReader, ListsAllUnsupportedOpsAtOnce) {
  const std::string message =
      problem(onnx_model(13, input_text("x", {1}) + output_text("y") + node_text("Unique", {"x"}, {"a"}) +
                                 node_text("Relu", {"a"}, {"b"}) + node_text("NonZero", {"b"}, {"y"})));
  EXPECT_THAT(message,
              HasSubstr("some ops are not supported: node n_a (Unique, opset 13), node n_y (NonZero, opset 13)"));
}

TEST(OnnxReader, NamesOneOfManyNodesOfATypeThatIsNotSupported) {
  const auto nodes = [](int count) {
    std::string graph = input_text("x", {1}) + output_text("y") + node_text("NonZero", {"x"}, {"y"});
    for (int i = 0; i < count; ++i) graph += node_text("Unique", {"x"}, {fmt::format("c{}", i)});
    return problem(onnx_model(13, graph));
  };
  EXPECT_THAT(nodes(2),
              HasSubstr("node n_y (NonZero, opset 13), node n_c0 (Unique, opset 13) and another of its type"));
  EXPECT_THAT(nodes(4), HasSubstr("node n_c0 (Unique, opset 13) and 3 others of its type"));
}

TEST(OnnxReader, ListsNodesWithUnsupportedAttributesBesideUnsupportedOps) {
  const std::string message =
      problem(onnx_model(13, input_text("x", {2, 3}) + output_text("y") + node_text("Unique", {"x"}, {"a"}) +
                                 node_text("Transpose", {"x"}, {"b"}, integers_attribute("perm", {0, 0})) +
                                 node_text("Softmax", {"x"}, {"c"}, integer_attribute("axis", 5)) +
                                 node_text("Sum", {"a", "b", "c"}, {"y"})));
  EXPECT_THAT(message, HasSubstr("an op is not supported: node n_a (Unique, opset 13); "
                                 "node n_b (Transpose, opset 13): attribute perm is no permutation of 2 axes; "
                                 "node n_c (Softmax, opset 13): axis must be from -2 to 1, not 5"));
}

}  // namespace
}  // namespace cohort
