#include <fmt/format.h>
#include <gmock/gmock.h>

#include <bit>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

/// Expected values: the examples of ONNX's operator documentation, and by hand.
namespace cohort {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::HasSubstr;

/// Values of all outputs for input x.
std::vector<std::vector<float>> computed(const std::string& graph, const std::vector<float>& x) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  auto outputs = evaluate(*loaded, {x});
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return {};
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    const Tensor& tensor = loaded->model.tensor(loaded->model.outputs[i]);
    (*outputs)[i] = decoded_numbers(tensor.element, std::move((*outputs)[i]));
  }
  return *std::move(outputs);
}

std::string problem(const std::string& graph) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph), {});
  return loaded ? std::string("read") : loaded.error().message;
}

std::string dynamic_quantize(const Shape& shape) {
  return input_text("x", shape) + output_text("y") + output_text("scale") + output_text("zero_point") +
         node_text("DynamicQuantizeLinear", {"x"}, {"y", "scale", "zero_point"});
}

void expect_quantized(const Shape& shape, const std::vector<float>& x, const std::vector<float>& y, float scale,
                      float zero_point) {
  const auto outputs = computed(dynamic_quantize(shape), x);
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(outputs[0], y);
  EXPECT_THAT(outputs[1], ElementsAre(FloatNear(scale, 1e-8F)));
  EXPECT_THAT(outputs[2], ElementsAre(zero_point));
}

TEST(OnnxDynamicQuantizeLinear, SpansWhatIsThereAndZero) {
  expect_quantized({6}, {0, 2, -3, -2.5F, 1.34F, 0.5F}, {153, 255, 0, 26, 221, 179}, 5.0F / 255, 153);
  expect_quantized({6}, {-1, -2.1F, -1.3F, -2.5F, -3.34F, -4}, {191, 121, 172, 96, 42, 0}, 4.0F / 255, 255);
  expect_quantized({3, 4}, {1, 2.1F, 1.3F, 2.5F, 3.34F, 4, 1.5F, 2.6F, 3.9F, 4, 3, 2.345F},
                   {64, 134, 83, 159, 213, 255, 96, 166, 249, 255, 191, 149}, 4.0F / 255, 0);
}

TEST(OnnxDynamicQuantizeLinear, OfZerosIsZeros) { expect_quantized({2, 1}, {0, 0}, {0, 0}, 1, 0); }

TEST(OnnxMatMulInteger, MultipliesDistancesFromZeroPoints) {
  const std::string graph = input_text("x", {4, 3}) + output_text("y") +
                            integers_text("b", {3, 2}, {1, 4, 2, 5, 3, 6}) + integers_text("a_zero", {1}, {12});
  const std::vector<float> a = {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0};
  EXPECT_THAT(computed(graph + integers_text("b_zero", {1}, {0}) +
                           node_text("MatMulInteger", {"x", "b", "a_zero", "b_zero"}, {"y"}),
                       a),
              ElementsAre(ElementsAre(-38, -83, -44, -98, -50, -113, -56, -128)));
  EXPECT_THAT(computed(graph + node_text("MatMulInteger", {"x", "b"}, {"y"}), a)[0][0], 11 + 14 + 9);
}

/// The EightBits of the one Gemm of a graph.
std::optional<EightBits> eight_bits(const std::string& graph) {
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph), {});
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return std::nullopt;
  const LoadedModel simple = simplify(*loaded);
  for (const Op& op : simple.model.ops) {
    if (const auto* const gemm = std::get_if<Gemm>(&op.attributes)) return gemm->eight_bits;
  }
  return std::nullopt;
}

TEST(OnnxMatMulInteger, MultipliesLevelsThatWereComputed) {
  const std::string matrix = integers_text("b", {3, 2}, {1, 4, -2, 5, 3, 6}) + integers_text("b_zero", {2}, {1, 2});
  const std::string graph = input_text("x", {1, 2, 3}) + output_text("y") + output_text("scale") + matrix +
                            node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
                            node_text("MatMulInteger", {"q", "b", "zero", "b_zero"}, {"y"});
  // Levels {51 0 255; 102 153 51}, zero point 51, matrix {0 2; -3 3; 2 4}.
  const auto outputs = computed(graph, {0, -1, 4, 1, 2, 0});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_THAT(outputs[0], ElementsAre(153 + 408, -153 + 816, -306, 102 + 306));
  EXPECT_EQ(eight_bits(graph), (EightBits{1, 0}));
  // A zero point that is constant becomes a bias.
  const std::string constant = input_text("x", {2, 3}) + output_text("y") + matrix + floats_text("step", {}, {0.5F}) +
                               narrow_text("zero", {}, 2, {3}) +
                               node_text("QuantizeLinear", {"x", "step", "zero"}, {"q"}) +
                               node_text("MatMulInteger", {"q", "b", "zero", "b_zero"}, {"y"});
  EXPECT_THAT(computed(constant, {0, 1, -1.5F, 2, -9, 0.5F}),
              ElementsAre(ElementsAre(-6 - 6, 6 - 12, 9 + 2, 8 - 9 + 4)));
  EXPECT_EQ(eight_bits(constant), (EightBits{1, 0}));
}

/// Of uint8, around zero points far from its middle, one or one for each column.
TEST(OnnxMatMulInteger, AddsWhatMatricesLackToFitEightBits) {
  for (const bool by_column : {false, true}) {
    const std::vector<std::int64_t> zeros =
        by_column ? std::vector<std::int64_t>{3, 200} : std::vector<std::int64_t>{3};
    const std::string matrix = narrow_text("b", {3, 2}, 2, {255, 0, 3, 5, 130, 200}) +
                               narrow_text("b_zero", by_column ? Shape{2} : Shape{}, 2, zeros);
    const std::string graph = input_text("x", {1, 2, 3}) + output_text("y") + output_text("scale") + matrix +
                              node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
                              node_text("MatMulInteger", {"q", "b", "zero", "b_zero"}, {"y"});
    // Distances of levels {0 -51 204; 51 102 0}, of the matrix {252 -3 | -200; 0 2 | -195; 127 197 | 0}.
    const auto outputs = computed(graph, {0, -1, 4, 1, 2, 0});
    ASSERT_EQ(outputs.size(), 2U);
    const float first = by_column ? 51 * 195 : -51 * 2 + 204 * 197;
    const float second = by_column ? 51 * -200 + 102 * -195 : 51 * -3 + 102 * 2;
    EXPECT_THAT(outputs[0], ElementsAre(204 * 127, first, 51 * 252, second));
    EXPECT_EQ(eight_bits(graph), (EightBits{1, 0}));
    const std::string constant = input_text("x", {2, 3}) + output_text("y") + matrix + floats_text("step", {}, {1}) +
                                 narrow_text("zero", {}, 2, {60}) +
                                 node_text("QuantizeLinear", {"x", "step", "zero"}, {"q"}) +
                                 node_text("MatMulInteger", {"q", "b", "zero", "b_zero"}, {"y"});
    EXPECT_THAT(computed(constant, {0, -51, 150, 51, 102, 0}),
                ElementsAre(ElementsAre(150 * 127, by_column ? 51 * 195 : -51 * 2 + 150 * 197, 51 * 252, second)));
    EXPECT_EQ(eight_bits(constant), (EightBits{1, 0}));
  }
}

/// The matrix changes: what is taken off the levels must not depend on what it was.
TEST(OnnxMatMulInteger, TakesZeroPointsOffTheLevelsInTraining) {
  const std::string graph = input_text("x", {2, 3}) + output_text("y") + output_text("scale") +
                            integers_text("b", {3, 2}, {1, 4, -2, 5, 3, 6}) +
                            node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
                            node_text("MatMulInteger", {"q", "b", "zero"}, {"y"});
  onnx::ReadOptions options;
  options.for_training = true;
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph), options);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const bool has_gemm = std::any_of(loaded->model.ops.begin(), loaded->model.ops.end(),
                                    [](const Op& op) { return std::holds_alternative<Gemm>(op.attributes); });
  EXPECT_FALSE(has_gemm);
}

TEST(OnnxMatMulInteger, TakesZeroPointsByRowAndByColumn) {
  const std::string graph = input_text("x", {2, 2}) + output_text("y") + integers_text("b", {2, 2}, {1, 2, 3, 4}) +
                            integers_text("a_zero", {2}, {1, 2}) + integers_text("b_zero", {2}, {1, 2}) +
                            node_text("MatMulInteger", {"x", "b", "a_zero", "b_zero"}, {"y"});
  // ({5 6; 7 8} - {1; 2}) ({1 2; 3 4} - {1 2})
  EXPECT_THAT(computed(graph, {5, 6, 7, 8}), ElementsAre(ElementsAre(10, 10, 12, 12)));
}

TEST(OnnxConvInteger, PadsWithTheZeroPoint) {
  const std::string graph = input_text("x", {1, 1, 3, 3}) + output_text("y") +
                            integers_text("w", {1, 1, 2, 2}, {1, 1, 1, 1}) + integers_text("x_zero", {}, {1});
  const std::vector<float> x = {2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_THAT(computed(graph + node_text("ConvInteger", {"x", "w", "x_zero"}, {"y"}), x),
              ElementsAre(ElementsAre(12, 16, 24, 28)));
  EXPECT_THAT(
      computed(graph + node_text("ConvInteger", {"x", "w", "x_zero"}, {"y"}, integers_attribute("pads", {1, 1, 1, 1})),
               x),
      ElementsAre(ElementsAreArray({1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9})));
}

TEST(OnnxConvInteger, TakesAZeroPointForEachKernel) {
  const std::string graph = input_text("x", {1, 1, 2}) + output_text("y") +
                            integers_text("w", {2, 1, 2}, {1, 2, 3, 4}) + integers_text("x_zero", {}, {0}) +
                            integers_text("w_zero", {2}, {1, 3}) +
                            node_text("ConvInteger", {"x", "w", "x_zero", "w_zero"}, {"y"});
  EXPECT_THAT(computed(graph, {10, 1}), ElementsAre(ElementsAre(0 * 10 + 1, 0 * 10 + 1)));
}

/// A ConvInteger of levels whose zero point is computed, beside a convolution of the distances from it.
std::string convolved_levels(const Shape& x, const Shape& w, const std::string& attributes, std::int64_t first_zero) {
  std::vector<std::int64_t> levels;
  for (std::int64_t i = 0; i < element_count(w); ++i) levels.push_back((i * 37 + 11) % 241);
  std::vector<std::int64_t> zeros;
  for (std::int64_t i = 0; i < w[0]; ++i) zeros.push_back(first_zero + i);
  std::vector<float> distances;
  for (std::size_t i = 0; i < levels.size(); ++i)
    distances.push_back(static_cast<float>(levels[i] - zeros[i / (levels.size() / zeros.size())]));
  return input_text("x", x) + output_text("y") + output_text("z") + narrow_text("w", w, 2, levels) +
         narrow_text("w_zero", {w[0]}, 2, zeros) + floats_text("distances", w, distances) +
         node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
         node_text("ConvInteger", {"q", "w", "zero", "w_zero"}, {"sum"}, attributes) +
         node_text("Cast", {"sum"}, {"y"}, integer_attribute("to", 1)) +
         node_text("Cast", {"q"}, {"levels"}, integer_attribute("to", 1)) +
         node_text("Cast", {"zero"}, {"none"}, integer_attribute("to", 1)) +
         node_text("Sub", {"levels", "none"}, {"centred"}) +
         node_text("Conv", {"centred", "distances"}, {"z"}, attributes);
}

/// Of both outputs of convolved_levels(), before and after simplify(): by `products` of 8-bit numbers.
void expect_same_sums(const Shape& x, const Shape& w, const std::string& attributes, std::int64_t first_zero = 120,
                      int products = 1) {
  SCOPED_TRACE(to_string(x) + to_string(w) + attributes);
  const Result<LoadedModel> loaded =
      onnx::parse_model(onnx_model(17, convolved_levels(x, w, attributes, first_zero)), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const LoadedModel simple = simplify(*loaded);
  const auto marked = std::count_if(simple.model.ops.begin(), simple.model.ops.end(), [](const Op& op) {
    const auto* const convolution = std::get_if<Convolution>(&op.attributes);
    return convolution != nullptr && convolution->eight_bits;
  });
  EXPECT_EQ(marked, products) << "and the one of distances is not";
  std::vector<float> values(static_cast<std::size_t>(element_count(x)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 29 % 83) / 10 - 3;
  for (const LoadedModel* const each : {&*loaded, &simple}) {
    const auto outputs = evaluate(*each, {values});
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 2U);
    EXPECT_EQ((*outputs)[0], (*outputs)[1]);
  }
}

TEST(OnnxConvInteger, AddsWhatKernelsLackToFitEightBits) {
  const std::string graph = input_text("x", {1, 1, 1, 3}) + output_text("y") +
                            narrow_text("w", {1, 1, 1, 2}, 2, {0, 255}) + narrow_text("w_zero", {}, 2, {1}) +
                            node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
                            node_text("ConvInteger", {"q", "w", "zero", "w_zero"}, {"sum"}) +
                            node_text("Cast", {"sum"}, {"y"}, integer_attribute("to", 1));
  EXPECT_THAT(computed(graph, {-1, 2, 4}), ElementsAre(ElementsAre(51 + 102 * 254, -102 + 204 * 254)));
}

TEST(OnnxConvInteger, TakesAComputedZeroPointOffItsSums) {
  const std::string pads = integers_attribute("pads", {1, 0, 2, 3});
  for (const std::int64_t minibatch : {1, 2}) {
    const Shape x{minibatch, 4, 6, 5};
    expect_same_sums(x, {3, 4, 3, 2}, "");
    expect_same_sums(x, {3, 4, 3, 2}, pads);
    expect_same_sums(x, {4, 2, 3, 3}, pads + integer_attribute("group", 2) + integers_attribute("strides", {2, 1}));
    expect_same_sums(x, {2, 4, 2, 3}, pads + integers_attribute("dilations", {3, 2}));
    expect_same_sums(x, {2, 4, 2, 1},
                     integers_attribute("pads", {9, 1, 9, 1}) + integers_attribute("dilations", {8, 1}));
    expect_same_sums(x, {2, 4, 1, 1}, integers_attribute("pads", {4, 4, 4, 4}));
    expect_same_sums(x, {2, 4, 7, 6}, text_attribute("auto_pad", "SAME_LOWER"));
  }
}

/// Kernels up to 220 from their zero point, with a convolution for the sums that they lack a part of.
TEST(OnnxConvInteger, TakesAComputedZeroPointOffItsSumsOfKernelsThatDoNotFit) {
  const Shape x{2, 4, 6, 5};
  expect_same_sums(x, {3, 4, 3, 2}, "", 20, 2);
  expect_same_sums(x, {3, 4, 3, 2}, integers_attribute("pads", {1, 0, 2, 3}), 20, 2);
  expect_same_sums(x, {4, 2, 3, 3}, integer_attribute("group", 2), 20, 0);
}

TEST(OnnxConvInteger, TakesAComputedZeroPointOffItsSumsOfSignals) {
  const std::string pads = integers_attribute("pads", {2, 3});
  for (const std::int64_t first_zero : {120, 20}) {
    const int products = first_zero == 120 ? 1 : 2;
    expect_same_sums({2, 4, 9}, {3, 4, 3}, "", first_zero, products);
    expect_same_sums({2, 4, 9}, {3, 4, 3}, pads + integers_attribute("strides", {2}), first_zero, products);
    expect_same_sums({1, 4, 9}, {3, 4, 3}, pads + integers_attribute("dilations", {3}), first_zero, products);
  }
  expect_same_sums({1, 4, 9}, {4, 2, 3}, pads + integer_attribute("group", 2));
}

/// As exporters write a quantised layer.
TEST(OnnxQuantized, LayerIsNearTheLayerItself) {
  const std::string graph =
      input_text("x", {2, 3}) + output_text("y") + integers_text("w", {3, 2}, {130, 128, 118, 138, 128, 123}) +
      integers_text("w_zero", {}, {128}) + floats_text("w_scale", {}, {0.1F}) + floats_text("bias", {2}, {1, -1}) +
      node_text("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"}) +
      node_text("MatMulInteger", {"q", "w", "zero", "w_zero"}, {"sum"}) +
      node_text("Cast", {"sum"}, {"as_float"}, integer_attribute("to", 1)) +
      node_text("Mul", {"scale", "w_scale"}, {"both_scales"}) +
      node_text("Mul", {"as_float", "both_scales"}, {"product"}) + node_text("Add", {"product", "bias"}, {"y"});
  const auto outputs = computed(graph, {1, 2, -0.5F, -1, 0.25F, 0.75F});
  ASSERT_EQ(outputs.size(), 1U);
  const float expected[] = {0.2F - 2 + 1, 2 + 0.25F - 1, -0.2F - 0.25F + 1, 0.25F - 0.375F - 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(outputs[0][i], expected[i], 0.02F) << i;
}

TEST(OnnxMatMulInteger, TakesAWholeBias) {
  const std::string graph = input_text("x", {1, 2}) + output_text("y") + integers_text("b", {2, 2}, {1, 2, 3, 4}) +
                            integers_text("bias", {2}, {10, -20}) + node_text("MatMulInteger", {"x", "b"}, {"sum"}) +
                            node_text("Add", {"sum", "bias"}, {"y"});
  EXPECT_THAT(computed(graph, {1, 1}), ElementsAre(ElementsAre(14, -14)));
}

TEST(OnnxMatMulInteger, TakesABiasThatIsComputedAsAWholeNumber) {
  const std::string graph = input_text("x", {1, 2}) + output_text("y") + output_text("z") +
                            integers_text("b", {2, 2}, {1, 2, 3, 4}) + floats_text("f", {2}, {10, -20}) +
                            node_text("Mul", {"x", "f"}, {"scaled"}) +
                            node_text("Cast", {"scaled"}, {"bias"}, integer_attribute("to", 6)) +
                            node_text("MatMulInteger", {"x", "b"}, {"sum"}) + node_text("Add", {"sum", "bias"}, {"y"}) +
                            node_text("Sub", {"bias", "sum"}, {"z"});
  EXPECT_THAT(computed(graph, {1, 1}), ElementsAre(ElementsAre(14, -14), ElementsAre(6, -26)));
}

TEST(OnnxDequantizeLinear, ReadsWhatIsComputed) {
  const std::string graph = input_text("x", {2, 2}) + output_text("y") + floats_text("scale", {2}, {0.5F, 2}) +
                            integers_text("zero", {2}, {1, 3});
  const std::vector<std::string> inputs = {"x", "scale", "zero"};
  EXPECT_THAT(computed(graph + node_text("DequantizeLinear", inputs, {"y"}), {5, 5, 1, 2}),
              ElementsAre(ElementsAre(2, 4, 0, -2)));
  EXPECT_THAT(
      computed(graph + node_text("DequantizeLinear", inputs, {"y"}, integer_attribute("axis", 0)), {5, 5, 1, 2}),
      ElementsAre(ElementsAre(2, 2, -4, -2)));
}

/// An initialiser of 8 bits: type 2 is unsigned, 3 signed.
std::string bytes_text(std::string_view name, int type, const std::string& dims, const std::string& values) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: {} {} int32_data: [{}] }}", name, type, dims, values);
}

TEST(OnnxQuantizeLinear, RoundsToEvenAndSaturatesAtTheZeroPointsType) {
  const std::string graph = input_text("x", {7}) + output_text("y") + floats_text("scale", {}, {2}) +
                            node_text("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  const std::vector<float> x = {0, 2, 3, 1000, -254, -1000, 5};
  EXPECT_THAT(computed(graph + bytes_text("zero", 2, "", "128"), x),
              ElementsAre(ElementsAre(128, 129, 130, 255, 1, 0, 130)));
  EXPECT_THAT(computed(graph + bytes_text("zero", 3, "", "1"), x),
              ElementsAre(ElementsAre(1, 2, 3, 127, -126, -128, 3)));
  EXPECT_THAT(problem(graph + integers_text("zero", {}, {0})),
              HasSubstr("quantises to type 7; supported are uint8, int8, uint16 and int16"));
}

TEST(OnnxQuantizeLinear, HasScalesByAxis) {
  const std::string graph = input_text("x", {2, 2}) + output_text("y") + floats_text("scale", {2}, {1, 10}) +
                            node_text("QuantizeLinear", {"x", "scale"}, {"y"}, integer_attribute("axis", 0));
  EXPECT_THAT(computed(graph, {3, 300, 30, -3}), ElementsAre(ElementsAre(3, 255, 3, 0)));
}

/// ONNX's own example.
TEST(OnnxQLinearMatMul, GivesLevelsOfTheResult) {
  const std::string graph =
      input_text("x", {2, 4}) + output_text("y") + floats_text("a_scale", {1}, {0.0066F}) +
      bytes_text("a_zero", 2, "dims: 1", "113") + floats_text("b_scale", {1}, {0.00705F}) +
      bytes_text("b", 2, "dims: [4, 3]", "152,51,244, 60,26,255, 0,127,246, 127,254,247") +
      bytes_text("b_zero", 2, "dims: 1", "114") + floats_text("y_scale", {1}, {0.0107F}) +
      bytes_text("y_zero", 2, "dims: 1", "118") +
      node_text("QLinearMatMul", {"x", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"}, {"y"});
  EXPECT_THAT(computed(graph, {208, 236, 0, 238, 3, 214, 255, 29}),
              ElementsAre(ElementsAre(168, 115, 255, 1, 66, 151)));
}

TEST(OnnxQLinearConv, GivesLevelsOfTheResultForEachKernelsScale) {
  const std::string graph =
      input_text("x", {1, 1, 3}) + output_text("y") + floats_text("x_scale", {}, {0.5F}) +
      bytes_text("x_zero", 2, "", "10") + bytes_text("w", 3, "dims: [2, 1, 2]", "1, 2, -3, 4") +
      floats_text("w_scale", {2}, {2, 4}) + bytes_text("w_zero", 3, "dims: 2", "0, 1") +
      floats_text("y_scale", {}, {4}) + bytes_text("y_zero", 2, "", "100") +
      bytes_text("bias", 6, "dims: 2", "8, -40") +
      node_text("QLinearConv", {"x", "x_scale", "x_zero", "w", "w_scale", "w_zero", "y_scale", "y_zero", "bias"},
                {"y"});
  // Levels of x less 10: 2, 4, 6. Sums: 1*2+2*4+8 = 18, 1*4+2*6+8 = 24; -4*2+3*4-40 = -36, -4*4+3*6-40 = -38.
  EXPECT_THAT(computed(graph, {12, 14, 16}), ElementsAre(ElementsAre(104, 106, 82, 81)));
}

TEST(OnnxQLinearConv, TakesABiasThatIsComputedAndRefusesScalesThatDoNotFit) {
  const auto graph = [](const std::string& bias, const std::string& x_scale = "half") {
    return input_text("x", {1, 1, 3}) + input_text("given", {2}, 6) + output_text("y") +
           floats_text("half", {}, {0.5F}) + floats_text("four", {}, {4}) + floats_text("scales", {2}, {2, 4}) +
           bytes_text("z", 2, "", "10") + bytes_text("w", 3, "dims: [2, 1, 2]", "1, 2, -4, 3") +
           bytes_text("wz", 3, "dims: 2", "0, 0") + bytes_text("scalar", 6, "", "8") +
           bytes_text("known", 6, "dims: 2", "8, -40") + node_text("Add", {"given", "known"}, {"sum"}) +
           node_text("QLinearConv", {"x", x_scale, "z", "w", "scales", "wz", "four", "z", bias}, {"y"});
  };
  // Distances 2, 4, 6: {10 16} + 8 in quarters, {4 2} - 40 in halves, from 10 on and not below 0.
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph("sum")), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto computed_bias = evaluate(*loaded, {{12, 14, 16}, {std::bit_cast<float>(0), std::bit_cast<float>(20)}});
  ASSERT_TRUE(computed_bias) << computed_bias.error().message;
  EXPECT_THAT(decoded_numbers(loaded->model.tensor(loaded->model.outputs[0]).element, computed_bias->front()),
              ElementsAre(14, 16, 2, 1));
  EXPECT_THAT(problem(graph("scalar")), HasSubstr("scale has shape [2] where [] needs one value"));
  EXPECT_THAT(problem(graph("known", "scales")), HasSubstr("input 1 (scale) must hold one value, not [2]"));
}

/// What a quantiser writes as ops from levels to levels runs as the ops on floats, each with its rounding behind it.
TEST(OnnxQuantized, LayersOfLevelsAreLayersAndRoundings) {
  const std::string scales = floats_text("s", {}, {0.5F}) + bytes_text("z", 2, "", "128") +
                             floats_text("ws", {}, {0.25F}) + bytes_text("wz", 3, "", "0") +
                             bytes_text("w", 3, "dims: [1, 1, 1, 1]", "8") +
                             bytes_text("b", 3, "dims: [3, 2]", "1, 2, 3, 4, 5, 6");
  const std::string graph = input_text("x", {1, 1, 4, 3}) + output_text("y") + scales +
                            node_text("QuantizeLinear", {"x", "s", "z"}, {"q"}) +
                            node_text("QLinearConv", {"q", "s", "z", "w", "ws", "wz", "s", "z"}, {"c"}) +
                            node_text("MaxPool", {"c"}, {"m"}, integers_attribute("kernel_shape", {2, 1})) +
                            node_text("QLinearMatMul", {"m", "s", "z", "b", "ws", "wz", "s", "z"}, {"p"}) +
                            node_text("DequantizeLinear", {"p", "s", "z"}, {"y"});
  const Result<LoadedModel> loaded = onnx::parse_model(onnx_model(17, graph), {});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const LoadedModel simple = simplify(*loaded);
  std::vector<std::string> types;
  for (const Op& op : simple.model.ops) types.emplace_back(op_type(op.attributes));
  EXPECT_THAT(types, ElementsAre("FakeQuantize", "Convolution", "MaxPool", "Reshape", "Gemm", "Reshape"));
  const Op& convolution = simple.model.ops[1];
  EXPECT_THAT(convolution.post_ops, ElementsAre(PostOp{Activation{ActivationKind::kFakeQuantize, 0.5F, -128}}));
  EXPECT_EQ(std::get<Convolution>(convolution.attributes).eight_bits, (EightBits{0.5F, -128}));
  EXPECT_EQ(std::get<Gemm>(simple.model.ops[4].attributes).eight_bits, (EightBits{0.5F, -128}));
  // In halves, times 8 * 0.25: {2 0 0; 0 1 0; 0 0 4; -2 -2 -2}. The larger of two rows: {2 1 0; 0 1 4; 0 0 4}. Times
  // {0.25 0.5; 0.75 1; 1.25 1.5}: {1.25 2; 5.75 7; 5 6}, in halves to even.
  const std::vector<float> x = {1, 0, 0, 0, 0.7F, 0, 0, 0, 2, -1, -1, -1};
  EXPECT_THAT(evaluate(simple, {x})->front(), ElementsAre(1, 2, 6, 7, 5, 6));
}

TEST(OnnxQuantized, RefusesZeroPointsThatDoNotFit) {
  EXPECT_THAT(problem(input_text("x", {1, 2}) + output_text("y") + integers_text("b", {2, 2}, {1, 2, 3, 4}) +
                      integers_text("a_zero", {}, {0}) + integers_text("b_zero", {3}, {1, 2, 3}) +
                      node_text("MatMulInteger", {"x", "b", "a_zero", "b_zero"}, {"y"})),
              HasSubstr("zero_point1 has shape [3] where axis 1 of [2, 2] needs one value or 2"));
  EXPECT_THAT(problem(input_text("x", {2}) + output_text("y") + floats_text("scale", {1}, {1}) +
                      node_text("DequantizeLinear", {"x", "scale"}, {"y"}, integer_attribute("block_size", 2))),
              HasSubstr("block_size is supported where all is constant only"));
}

}  // namespace
}  // namespace cohort
