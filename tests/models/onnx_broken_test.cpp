#include <gmock/gmock.h>

#include <limits>

#include "base/random.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/onnx_text.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

std::string problem(const std::string& bytes) {
  const Result<LoadedModel> loaded = onnx::parse_model(bytes, {});
  EXPECT_TRUE(loaded || loaded.error().code == ErrorCode::kInvalidInput);
  return loaded ? std::string("read") : loaded.error().message;
}

std::string small_network() {
  Model model = *make_network("lstm", 1, {{"steps", "2"}, {"inputs", "3"}, {"hidden", "2"}, {"classes", "2"}});
  Weights weights = random_weights(model, 1);
  return *onnx::serialize_model({std::move(model), std::move(weights)});
}

TEST(BrokenOnnx, CutShortAnywhereIsAnErrorOrAValidModel) {
  const std::string bytes = small_network();
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<LoadedModel> loaded = onnx::parse_model(std::string_view(bytes).substr(0, size), {});
    if (loaded) {
      EXPECT_TRUE(validate(loaded->model)) << size;
    } else {
      EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidInput);
      ++refused;
    }
  }
  EXPECT_EQ(refused, static_cast<int>(bytes.size()));
}

TEST(BrokenOnnx, RandomBytesAreRefused) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::string bytes(random.below(2000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    EXPECT_NE(problem(bytes), "read") << seed;
  }
}

TEST(BrokenOnnx, FlippedBytesNeverGiveAnInvalidModel) {
  const std::string bytes = small_network();
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string damaged = bytes;
    for (int i = 0; i < 3; ++i) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    const Result<LoadedModel> loaded = onnx::parse_model(damaged, {});
    if (!loaded) continue;
    EXPECT_TRUE(validate(loaded->model)) << seed;
    const LoadedModel simple = simplify(*loaded);
    EXPECT_TRUE(validate(simple.model)) << seed;
  }
}

TEST(BrokenOnnx, EmptyFileAndOtherTextAreNamed) {
  EXPECT_THAT(problem(""), HasSubstr("it has no graph"));
  EXPECT_THAT(problem("{\"traceEvents\": []}"), HasSubstr("not an ONNX model"));
}

TEST(BrokenOnnx, WhatIsNoModelIsNamedForWhatItIs) {
  EXPECT_THAT(problem("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
              HasSubstr("not an ONNX model: it is a Git LFS pointer, not the file itself; `git lfs pull`"));
  for (const std::string_view page : {"<!DOCTYPE html>\n<html>", "\xef\xbb\xbf\r\n <HTML lang=\"en\">", "<head>"})
    EXPECT_THAT(problem(std::string(page)), HasSubstr("it is a web page; download the file itself"));
  EXPECT_THAT(problem("PK\x03\x04 archive"), HasSubstr("it is a zip archive, as PyTorch saves models"));
  EXPECT_THAT(problem("\x1f\x8b..."), HasSubstr("it is compressed with gzip"));
  const TemporaryFolder folder;
  folder.write("input_0.pb", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  const auto tensor = onnx::read_tensor(folder.path() / "input_0.pb");
  ASSERT_FALSE(tensor);
  EXPECT_THAT(tensor.error().message, HasSubstr("not an ONNX tensor: it is a Git LFS pointer"));
}

TEST(BrokenOnnx, AFileIsNamedInItsError) {
  const TemporaryFolder folder;
  folder.write("broken.onnx", "not a model");
  const auto path = folder.path() / "broken.onnx";
  const Result<LoadedModel> loaded = onnx::read_model(path, {});
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr(path.string()));
  const auto tensor = onnx::read_tensor(path);
  ASSERT_FALSE(tensor);
  EXPECT_THAT(tensor.error().message, HasSubstr(path.string()));
}

const std::string kRelu = node_text("Relu", {"x"}, {"y"});
const std::string kHeader = input_text("x", {1}) + output_text("y");

TEST(BrokenOnnx, OldOrMissingOpsetsAreNamed) {
  EXPECT_THAT(problem(onnx_model(0, kHeader + kRelu)), HasSubstr("opset 0 is too old; supported are 1 and later"));
}

TEST(BrokenOnnx, ShapesThatClaimMoreThanTheFileHoldsAreRefused) {
  EXPECT_THAT(problem(onnx_model(
                  13, kHeader + kRelu + " initializer { name: \"w\" data_type: 1 dims: 1000000 dims: 1000000 }")),
              HasSubstr("tensor w: it holds 0 values where its shape needs 1000000000000"));
  EXPECT_THAT(
      problem(onnx_model(13, kHeader + kRelu + " initializer { name: \"w\" data_type: 1 dims: 4 raw_data: \"1234\" }")),
      HasSubstr("tensor w: it holds 4 bytes where its 4 elements of float32 need 16"));
  EXPECT_THAT(problem(onnx_model(
                  13, kHeader + kRelu + " initializer { name: \"w\" data_type: 1 dims: 4611686018427387904 dims: 8 }")),
              HasSubstr("tensor w: its shape [4611686018427387904, 8] is not valid"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + kRelu + " initializer { name: \"w\" data_type: 1 dims: -1 }")),
              HasSubstr("tensor w: its shape [-1] is not valid"));
}

TEST(BrokenOnnx, ConstantOfShapeCannotAskForMoreThanItsShare) {
  const auto made = [](const std::vector<std::int64_t>& shape) {
    return problem(onnx_model(13, kHeader + integers_text("s", {static_cast<std::int64_t>(shape.size())}, shape) +
                                      node_text("ConstantOfShape", {"s"}, {"c"}) + kRelu));
  };
  EXPECT_THAT(made({1 << 20, 1 << 20}), HasSubstr("would make a constant of 1099511627776 elements"));
  EXPECT_THAT(made({INT64_MAX, INT64_MAX}), HasSubstr("would make a constant of"));
  EXPECT_THAT(made({-3}), HasSubstr("shape [-3] is not valid"));
  EXPECT_EQ(made({10, 10}), "read");
}

TEST(BrokenOnnx, ConstantsThatTakeTooMuchComputingAreLeftToTheRun) {
  const std::vector<float> ones(32 * 32, 1);
  const std::string bytes =
      onnx_model(13, input_text("x", {1, 32}) + output_text("y") + floats_text("a", {32, 32}, ones) +
                         floats_text("b", {32, 32}, ones) + node_text("MatMul", {"a", "b"}, {"c"}) +
                         node_text("Mul", {"x", "c"}, {"y"}));
  onnx::ReadOptions options;
  const auto folded = onnx::parse_model(bytes, options);
  ASSERT_TRUE(folded) << folded.error().message;
  EXPECT_EQ(folded->model.ops.size(), 1U);
  options.most_elements = 32 * 32 * 32;  // a product takes twice as many operations
  const auto left = onnx::parse_model(bytes, options);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->model.ops.size(), 2U);
}

TEST(BrokenOnnx, HugeInputsAreRefused) {
  EXPECT_THAT(problem(onnx_model(13, input_text("x", {INT64_MAX, INT64_MAX}) + output_text("y") + kRelu)),
              HasSubstr("more than 2^40 elements"));
}

TEST(BrokenOnnx, CyclesAreNamed) {
  EXPECT_THAT(problem(onnx_model(13, kHeader + node_text("Add", {"x", "b"}, {"a"}) + node_text("Relu", {"a"}, {"b"}) +
                                         node_text("Relu", {"b"}, {"y"}))),
              HasSubstr("node n_a (Add, opset 13) is in a cycle of nodes"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + node_text("Relu", {"y"}, {"y"}))), HasSubstr("is in a cycle"));
}

TEST(BrokenOnnx, MissingAndDoubleTensorsAreNamed) {
  EXPECT_THAT(problem(onnx_model(13, kHeader + node_text("Relu", {"z"}, {"y"}))),
              HasSubstr("node n_y (Relu, opset 13) reads tensor z, which nothing writes"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + kRelu + node_text("Tanh", {"x"}, {"y"}))),
              HasSubstr("node n_y (Tanh, opset 13) writes tensor y, which has a value already"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + node_text("Relu", {"x"}, {"x"}))), HasSubstr("writes tensor x"));
  EXPECT_THAT(problem(onnx_model(13, input_text("x", {1}) + output_text("q") + kRelu)),
              HasSubstr("output q has no value"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + output_text("y") + kRelu)), HasSubstr("output y is listed twice"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + input_text("x", {1}) + kRelu)), HasSubstr("input x stands twice"));
  EXPECT_THAT(problem(onnx_model(13, input_text("x", {1}) + kRelu)), HasSubstr("the graph has no outputs"));
  EXPECT_THAT(problem(onnx_model(13, kHeader + kRelu + floats_text("w", {1}, {1}) + floats_text("w", {1}, {1}))),
              HasSubstr("tensor w has two initialisers"));
}

TEST(BrokenOnnx, NodesWithoutInputsOrOutputsAreNoCrash) {
  for (const char* type : {"Relu",
                           "Conv",
                           "Gemm",
                           "MatMul",
                           "LSTM",
                           "Concat",
                           "Reshape",
                           "Flatten",
                           "Squeeze",
                           "Sum",
                           "Transpose",
                           "Shape",
                           "Size",
                           "Identity",
                           "Dropout",
                           "Clip",
                           "Softmax",
                           "MaxPool",
                           "Add",
                           "BatchNormalization",
                           "LRN",
                           "GlobalAveragePool",
                           "Gather",
                           "Slice",
                           "Cast",
                           "Constant",
                           "ConstantOfShape",
                           "Unsqueeze"}) {
    EXPECT_NE(problem(onnx_model(13, kHeader + node_text(type, {}, {"z"}) + kRelu)), "read") << type;
    EXPECT_NE(problem(onnx_model(9, kHeader + node_text(type, {"", "", ""}, {"z"}) + kRelu)), "read") << type;
    // Reading must come to an end; whether the result is used does not matter.
    problem(onnx_model(13, kHeader + node_text(type, {"x", "x", "x"}, {}) + kRelu));
    problem(
        onnx_model(9, kHeader + integers_text("i", {2}, {-1, 7}) + node_text(type, {"i", "i", "i"}, {"z"}) + kRelu));
    problem(onnx_model(9, kHeader + floats_text("f", {0}, {}) + node_text(type, {"f", "f", "f"}, {"z"}) + kRelu));
  }
}

TEST(BrokenOnnx, WindowsThatWouldOverflowAreRefused) {
  const std::string header = input_text("x", {1, 1, 8, 8}) + output_text("y");
  const auto pool = [&](const std::string& attributes) {
    return problem(onnx_model(12, header + node_text("MaxPool", {"x"}, {"y"}, attributes)));
  };
  EXPECT_THAT(pool(integers_attribute("kernel_shape", {INT64_MAX, 2})), HasSubstr("attribute kernel_shape must hold"));
  EXPECT_THAT(pool(integers_attribute("kernel_shape", {2})), HasSubstr("must have 2 entries, not 1"));
  EXPECT_THAT(pool(integers_attribute("kernel_shape", {2, 2}) + integers_attribute("strides", {0, 1})),
              HasSubstr("strides must be at least 1"));
  EXPECT_THAT(pool(integers_attribute("kernel_shape", {2, 2}) + text_attribute("auto_pad", "SAME")),
              HasSubstr("attribute auto_pad must be"));
  EXPECT_THAT(pool(""), HasSubstr("attribute kernel_shape is missing"));
}

TEST(BrokenOnnx, OtherElementTypesAreNamed) {
  EXPECT_THAT(problem(onnx_model(13, input_text("x", {1}, 8) + output_text("y") + kRelu)),
              HasSubstr("input x: holds string; supported are floating-point numbers of 16 to 64 bits, whole numbers"));
}

TEST(BrokenOnnx, ExtentsBeyondAllMemoryAreRefusedBesideNone) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::string graph = input_text("x", {0, 1, most}) + output_text("y");
  const std::string window = integers_attribute("kernel_shape", {1}) + integers_attribute("pads", {1, 1});
  for (const std::string& node :
       {node_text("LpPool", {"x"}, {"y"}, window + integer_attribute("ceil_mode", 1)),
        node_text("MaxPool", {"x"}, {"y"}, window),
        node_text("MaxPool", {"x"}, {"y"},
                  integers_attribute("kernel_shape", {2}) + text_attribute("auto_pad", "SAME_UPPER"))})
    EXPECT_THAT(problem(onnx_model(13, graph + node)), HasSubstr("2^40"));
}

TEST(BrokenOnnx, ConvolutionsOfPadsAloneCostNothing) {
  const std::string head =
      input_text("x", {1, 1, 1, 1}) + output_text("y") + node_text("DynamicQuantizeLinear", {"x"}, {"q", "s", "zero"});
  const std::string pads = integers_attribute("pads", {1 << 30, 0, 1 << 30, 0});
  const std::string node = node_text("ConvInteger", {"q", "w", "zero"}, {"y"}, pads);
  EXPECT_EQ(problem(onnx_model(17, head + narrow_text("w", {0, 1, 1, 1}, 2, {}) + node)), "read");
  EXPECT_EQ(problem(onnx_model(17, head + narrow_text("w", {1, 1, 1, 1}, 2, {1}) + node)), "read");
}

}  // namespace
}  // namespace cohort
