#include <gmock/gmock.h>

#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/models/onnx_text.hpp"

// Forms of constants and weights that exporters write.

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Given = std::map<std::string, onnx::NamedTensor>;

struct Computed {
  std::vector<std::string> inputs;
  std::vector<std::vector<float>> outputs;
};

/// What a model whose inputs are all {1, 2, ...} gives, as read and simplified; or the message instead of outputs.
Computed computed(const std::string& bytes, const Given* given = nullptr) {
  onnx::ReadOptions options;
  options.given = given;
  auto loaded = onnx::parse_model(bytes, options);
  EXPECT_TRUE(loaded) << loaded.error().message;
  if (!loaded) return {};
  const LoadedModel simple = simplify(*std::move(loaded));
  Computed result;
  std::vector<std::vector<float>> inputs;
  for (const TensorId id : simple.model.inputs) {
    const Tensor& input = simple.model.tensor(id);
    result.inputs.push_back(input.name);
    std::vector<float>& values = inputs.emplace_back(static_cast<std::size_t>(element_count(input.shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  }
  auto outputs = evaluate(simple, inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (outputs) result.outputs = *std::move(outputs);
  return result;
}

std::vector<float> first_output(const std::string& bytes) {
  const Computed result = computed(bytes);
  return result.outputs.empty() ? std::vector<float>() : result.outputs[0];
}

std::string message(const std::string& bytes) {
  const auto loaded = onnx::parse_model(bytes, {});
  return loaded ? std::string("read") : loaded.error().message;
}

std::string initializer(std::string_view name, int type, std::string_view dims_and_values) {
  return fmt::format(" initializer {{ name: \"{}\" data_type: {} {} }}", name, type, dims_and_values);
}

/// x [2] + c, where node c is a Constant with `attribute` and, if that says so, a Cast behind it.
std::string with_constant(std::string_view attribute, bool is_whole = false) {
  const std::string constant = node_text("Constant", {}, {is_whole ? "whole" : "c"}, attribute);
  const std::string cast = is_whole ? node_text("Cast", {"whole"}, {"c"}, integer_attribute("to", 1)) : "";
  return onnx_model(17,
                    input_text("x", {2}) + output_text("y") + constant + cast + node_text("Add", {"x", "c"}, {"y"}));
}

// Protocol buffers join messages that stand one behind the other, which a file's pieces may be.
TEST(OnnxWeights, AGraphMayStandInSeveralParts) {
  const std::string first = input_text("x", {2}) + initializer("a", 1, "dims: 2 float_data: 10 float_data: 20") +
                            node_text("Add", {"x", "a"}, {"sum"});
  const std::string second = initializer("b", 1, "dims: 2 float_data: 3 float_data: 4") +
                             node_text("Mul", {"sum", "b"}, {"y"}) + output_text("y");
  const std::string bytes = onnx_model(13, first) + onnx_model(13, second);
  EXPECT_THAT(first_output(bytes), ElementsAre(33, 88));
  EXPECT_TRUE(onnx::check_model(bytes));
  EXPECT_EQ(onnx::input_names(bytes)->size(), 1U);
  EXPECT_THAT(message(bytes.substr(0, bytes.size() - 1)), HasSubstr("not an ONNX model, or cut short"));
}

TEST(OnnxConstant, HasEveryFormOfNumbers) {
  EXPECT_THAT(first_output(with_constant("attribute { name: \"value_float\" type: FLOAT f: 2.5 }")),
              ElementsAre(3.5F, 4.5F));
  EXPECT_THAT(first_output(with_constant("attribute { name: \"value_floats\" type: FLOATS floats: [10, 20] }")),
              ElementsAre(11, 22));
  EXPECT_THAT(first_output(with_constant("attribute { name: \"value_int\" type: INT i: -3 }", true)),
              ElementsAre(-2, -1));
  EXPECT_THAT(first_output(with_constant("attribute { name: \"value_ints\" type: INTS ints: [5, 7] }", true)),
              ElementsAre(6, 9));
  EXPECT_THAT(first_output(with_constant(
                  "attribute { name: \"value\" type: TENSOR t { data_type: 1 dims: 1 float_data: 0.5 } }")),
              ElementsAre(1.5F, 2.5F));
  EXPECT_THAT(
      first_output(with_constant("attribute { name: \"value\" type: TENSOR t { data_type: 10 int32_data: 0x3800 } }")),
      ElementsAre(1.5F, 2.5F));
}

TEST(OnnxConstant, OfTextOrSparseIsRefusedByName) {
  EXPECT_THAT(message(with_constant("attribute { name: \"value_string\" type: STRING s: \"a\" }")),
              HasSubstr("node n_c (Constant, opset 17): attribute value_string is not supported, only numbers are"));
  EXPECT_THAT(message(with_constant("attribute { name: \"value_strings\" type: STRINGS strings: \"a\" }")),
              HasSubstr("attribute value_strings is not supported"));
  EXPECT_THAT(
      message(with_constant("attribute { name: \"sparse_value\" type: SPARSE_TENSOR sparse_tensor { dims: 2 } }")),
      HasSubstr("attribute sparse_value is not supported"));
  EXPECT_THAT(message(with_constant(
                  "attribute { name: \"value\" type: TENSOR t { data_type: 8 dims: 1 string_data: \"a\" } }")),
              HasSubstr("attribute value holds string, which is not supported"));
  EXPECT_THAT(message(with_constant("")), HasSubstr("attribute value is missing"));
}

TEST(OnnxConstant, ThatNothingReadsMayBeOfAnyType) {
  const std::string nodes =
      node_text("Constant", {}, {"unused"}, text_attribute("value_string", "a")) + node_text("Relu", {"x"}, {"y"});
  EXPECT_THAT(first_output(onnx_model(17, input_text("x", {2}) + output_text("y") + nodes)), ElementsAre(1, 2));
}

/// x [1, 2] times W [2, 2], which `nodes` compute.
std::string with_weights(std::string_view initializers, std::string_view nodes) {
  return onnx_model(21, input_text("x", {1, 2}) + output_text("y") + std::string(initializers) + std::string(nodes) +
                            node_text("MatMul", {"x", "W"}, {"y"}));
}

std::string cast_to_float(std::string_view type_and_values) {
  return with_weights(" initializer { name: \"w\" dims: [2, 2] " + std::string(type_and_values) + " }",
                      node_text("Cast", {"w"}, {"W"}, integer_attribute("to", 1)));
}

TEST(OnnxWeights, OfOtherTypesBecomeFloat32) {
  // float16: 1, -2, the smallest subnormal, 65504
  EXPECT_THAT(first_output(cast_to_float("data_type: 10 int32_data: [0x3c00, 0xc000, 1, 0x7bff]")),
              ElementsAre(1 + 2 * 0x1p-24F, -2 + 2 * 65504.0F));
  EXPECT_THAT(first_output(cast_to_float(R"(data_type: 10 raw_data: "\000\074\000\300\000\074\000\300")")),
              ElementsAre(3, -6));
  // bfloat16: 1, -2
  EXPECT_THAT(first_output(cast_to_float("data_type: 16 int32_data: [0x3f80, 0xc000, 0x3f80, 0xc000]")),
              ElementsAre(3, -6));
  EXPECT_THAT(first_output(cast_to_float("data_type: 11 double_data: [1, 2, 3, 4]")), ElementsAre(7, 10));
  EXPECT_THAT(first_output(cast_to_float("data_type: 3 int32_data: [-128, 127, 3, 4]")), ElementsAre(-122, 135));
  EXPECT_THAT(first_output(cast_to_float(R"(data_type: 3 raw_data: "\377\200\001\002")")), ElementsAre(1, -124));
  EXPECT_THAT(first_output(cast_to_float("data_type: 2 int32_data: [255, 1, 0, 0]")), ElementsAre(255, 1));
  EXPECT_THAT(first_output(cast_to_float("data_type: 5 int32_data: [-300, 300, 0, 0]")), ElementsAre(-300, 300));
  EXPECT_THAT(first_output(cast_to_float("data_type: 4 int32_data: [65535, 1, 0, 0]")), ElementsAre(65535, 1));
  EXPECT_THAT(first_output(cast_to_float("data_type: 12 uint64_data: [4294967295, 1, 0, 0]")),
              ElementsAre(4294967296.0F, 1));
}

TEST(OnnxWeights, KeepNotANumberAndInfinityOfFloat16) {
  const std::string bytes = onnx_model(17, input_text("x", {3}) + output_text("y") +
                                               initializer("w", 10, "dims: 3 int32_data: [0x7c00, 0xfc00, 0x7e00]") +
                                               node_text("Cast", {"w"}, {"c"}, integer_attribute("to", 1)) +
                                               node_text("Add", {"x", "c"}, {"y"}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(first_output(bytes), ElementsAre(infinity, -infinity, testing::IsNan()));
}

TEST(OnnxWeights, AreRoundedByACastOnTheWay) {
  const auto rounded = [](int to, float value) {
    return first_output(with_weights(floats_text("w", {2, 2}, {value, 0, 0, 0}),
                                     node_text("Cast", {"w"}, {"h"}, integer_attribute("to", to)) +
                                         node_text("Cast", {"h"}, {"W"}, integer_attribute("to", 1))))
        .at(0);
  };
  EXPECT_EQ(rounded(10, 1 + 0x1p-11F), 1);  // a tie goes to even
  EXPECT_EQ(rounded(10, 1 + 3 * 0x1p-11F), 1 + 0x1p-9F);
  EXPECT_EQ(rounded(10, 0x1.8p-25F), 0x1p-24F);
  EXPECT_EQ(rounded(16, 1 + 0x1p-8F), 1);
  EXPECT_EQ(rounded(3, -2.7F), -2);
  EXPECT_EQ(rounded(2, 200.5F), 200);
  EXPECT_EQ(rounded(9, 0.25F), 1);
}

/// x times the dequantised int8 weights {1, 2, 3, 4}.
std::string quantized(std::string_view scale, std::string_view zero_point, std::string_view attributes = "") {
  std::vector<std::string> inputs{"q", "s"};
  if (!zero_point.empty()) inputs.emplace_back("z");
  std::string initializers = initializer("q", 3, "dims: [2, 2] int32_data: [1, 2, 3, 4]") + initializer("s", 1, scale);
  if (!zero_point.empty()) initializers += initializer("z", 3, zero_point);
  return with_weights(initializers, node_text("DequantizeLinear", inputs, {"W"}, attributes));
}

TEST(OnnxWeights, AreDequantizedPerTensorAxisAndBlock) {
  EXPECT_THAT(first_output(quantized("float_data: 0.5", "")), ElementsAre(3.5F, 5));
  EXPECT_THAT(first_output(quantized("dims: 1 float_data: 0.5", "dims: 1 int32_data: 1")), ElementsAre(2, 3.5F));
  EXPECT_THAT(first_output(quantized("dims: 2 float_data: [1, 10]", "dims: 2 int32_data: [1, -1]")),
              ElementsAre(0 + 2 * 2, 30 + 2 * 50));  // columns, axis 1
  EXPECT_THAT(first_output(quantized("dims: 2 float_data: [1, 10]", "", integer_attribute("axis", 0))),
              ElementsAre(1 + 2 * 30, 2 + 2 * 40));
  EXPECT_THAT(first_output(quantized("dims: 2 float_data: [1, 10]", "", integer_attribute("axis", -2))),
              ElementsAre(1 + 2 * 30, 2 + 2 * 40));
  EXPECT_THAT(first_output(quantized("dims: [1, 2] float_data: [1, 10]", "dims: [1, 2] int32_data: [1, 0]",
                                     integer_attribute("axis", 0) + integer_attribute("block_size", 2))),
              ElementsAre(0 + 2 * 2, 20 + 2 * 40));
}

TEST(OnnxWeights, ThatCannotBeDequantizedAreRefused) {
  EXPECT_THAT(message(quantized("dims: 3 float_data: [1, 2, 3]", "")),
              HasSubstr("input 1 (scale) has shape [3] where axis 1 of [2, 2] needs [2]"));
  EXPECT_THAT(message(quantized("dims: 2 float_data: [1, 2]", "dims: 1 int32_data: 1")),
              HasSubstr("input 2 (x_zero_point) has 1 elements where input 1 (scale) has 2"));
  EXPECT_THAT(message(quantized("dims: 2 float_data: [1, 2]", "", integer_attribute("axis", 2))), HasSubstr("axis"));
  EXPECT_THAT(message(quantized("dims: 2 float_data: [1, 2]", "", integer_attribute("block_size", -1))),
              HasSubstr("block_size"));
}

TEST(OnnxWeights, ThatNothingReadsMayBeOfAnyType) {
  const std::string graph = input_text("x", {2}) + output_text("y") + node_text("Relu", {"x"}, {"y"});
  for (const std::string_view unused :
       {"data_type: 10 dims: 1 int32_data: 1", "data_type: 8 dims: 1 string_data: \"a\"",
        "data_type: 14 dims: 1 float_data: [1, 2]", "data_type: 17 dims: 1 int32_data: 1",
        "data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: \"location\" value: \"none.bin\" }"})
    EXPECT_THAT(first_output(onnx_model(17, graph + " initializer { name: \"w\" " + std::string(unused) + " }")),
                ElementsAre(1, 2));
  EXPECT_THAT(message(onnx_model(17, graph + initializer("w", 1, "dims: 2 float_data: 1"))),
              HasSubstr("tensor w: it holds 1 values where its shape needs 2"));
  EXPECT_THAT(first_output(onnx_model(17, graph + " sparse_initializer { values { name: \"w\" } }")),
              ElementsAre(1, 2));
}

TEST(OnnxWeights, OfATypeThatCannotBeReadAreNamed) {
  EXPECT_THAT(message(onnx_model(17, input_text("x", {1}) + output_text("y") +
                                         initializer("w", 8, "dims: 1 string_data: \"a\"") +
                                         node_text("Add", {"x", "w"}, {"y"}))),
              HasSubstr("tensor w: its type is string; supported are"));
}

TEST(OnnxOutputs, MayBeInputsAndInitializers) {
  const Computed passed = computed(
      onnx_model(17, input_text("x", {2}) + output_text("x") + output_text("z") + node_text("Neg", {"x"}, {"z"})));
  EXPECT_THAT(passed.outputs, ElementsAre(ElementsAre(1, 2), ElementsAre(-1, -2)));
  const Computed alone = computed(onnx_model(17, input_text("x", {2}) + output_text("x")));
  EXPECT_THAT(alone.outputs, ElementsAre(ElementsAre(1, 2)));
  const Computed weight =
      computed(onnx_model(17, input_text("x", {2}) + output_text("w") + output_text("y") +
                                  floats_text("w", {2}, {3, 4}) + node_text("Add", {"x", "w"}, {"y"})));
  EXPECT_THAT(weight.outputs, ElementsAre(ElementsAre(3, 4), ElementsAre(4, 6)));
  const Computed copies =
      computed(onnx_model(17, input_text("x", {2}) + output_text("a") + output_text("b") +
                                  node_text("Identity", {"x"}, {"a"}) + node_text("Identity", {"a"}, {"b"})));
  EXPECT_THAT(copies.outputs, ElementsAre(ElementsAre(1, 2), ElementsAre(1, 2)));
}

TEST(OnnxScalars, AreInputsOutputsAndConstants) {
  const Computed sum = computed(onnx_model(
      17, input_text("x", {}) + output_text("y") + floats_text("c", {}, {4}) + node_text("Add", {"x", "c"}, {"y"})));
  EXPECT_THAT(sum.outputs, ElementsAre(ElementsAre(5)));
  const Computed passed =
      computed(onnx_model(17, input_text("x", {}) + output_text("x") + output_text("c") + floats_text("c", {}, {4})));
  EXPECT_THAT(passed.outputs, ElementsAre(ElementsAre(1), ElementsAre(4)));
  const Computed mean =
      computed(onnx_model(17, input_text("x", {3}) + output_text("y") +
                                  node_text("ReduceMean", {"x"}, {"y"}, integer_attribute("keepdims", 0))));
  EXPECT_THAT(mean.outputs, ElementsAre(ElementsAre(2)));
}

/// y = x + c, where c is an input, too, and has a default.
std::string overridable() {
  return onnx_model(17, input_text("x", {3}) + input_text("c", {3}) + output_text("y") +
                            floats_text("c", {3}, {10, 20, 30}) + node_text("Add", {"x", "c"}, {"y"}));
}

TEST(OnnxDefaults, AreConstantsUnlessAValueIsGiven) {
  const Computed by_default = computed(overridable());
  EXPECT_THAT(by_default.inputs, ElementsAre("x"));
  EXPECT_THAT(by_default.outputs, ElementsAre(ElementsAre(11, 22, 33)));
  const Given given{{"c", {"c", {3}, {0, 0, 0}, {}, false}}};
  const Computed replaced = computed(overridable(), &given);  // then it is an input, and the test's are 1, 2, ...
  EXPECT_THAT(replaced.inputs, ElementsAre("x", "c"));
  EXPECT_THAT(replaced.outputs, ElementsAre(ElementsAre(2, 4, 6)));
}

TEST(OnnxDefaults, GiveWayToValuesThatAnOpNeedsBeforehand) {
  const std::string bytes = onnx_model(
      17, input_text("x", {2, 3}) +
              " input { name: \"shape\" type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } }" +
              output_text("y") + integers_text("shape", {2}, {1, 6}) + node_text("Reshape", {"x", "shape"}, {"y"}));
  const Given given{{"shape", {"shape", {2}, {}, {3, 2}, true}}};
  onnx::ReadOptions options;
  const auto by_default = onnx::parse_model(bytes, options);
  ASSERT_TRUE(by_default) << by_default.error().message;
  EXPECT_EQ(by_default->model.tensor(by_default->model.outputs[0]).shape, (Shape{1, 6}));
  options.given = &given;
  const auto replaced = onnx::parse_model(bytes, options);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(replaced->model.tensor(replaced->model.outputs[0]).shape, (Shape{3, 2}));
}

TEST(OnnxDefaults, AreListedAmongTheInputs) {
  const auto names = onnx::input_names(overridable());
  ASSERT_TRUE(names);
  ASSERT_EQ(names->size(), 2U);
  EXPECT_EQ((*names)[0].name, "x");
  EXPECT_FALSE((*names)[0].has_default);
  EXPECT_TRUE((*names)[1].has_default);
}

}  // namespace
}  // namespace cohort
