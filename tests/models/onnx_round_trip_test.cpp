#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <numeric>

#include "base/file.hpp"
#include "models/builder.hpp"
#include "models/networks/networks.hpp"
#include "models/onnx/onnx_file.hpp"
#include "tests/models/evaluate.hpp"
#include "tests/temporary_folder.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

LoadedModel with_weights(Model model) {
  Weights weights = random_weights(model, 11);
  return {std::move(model), std::move(weights)};
}

LoadedModel written_and_read(const LoadedModel& loaded) {
  const Result<std::string> bytes = onnx::serialize_model(loaded);
  EXPECT_TRUE(bytes) << bytes.error().message;
  Result<LoadedModel> read = onnx::parse_model(*bytes, {});
  EXPECT_TRUE(read) << read.error().message;
  return *std::move(read);
}

/// Equal ops in order, with names, attributes, operands' names and shapes, and equal weights.
void expect_same(const LoadedModel& actual, const LoadedModel& expected) {
  EXPECT_EQ(actual.model.name, expected.model.name);
  ASSERT_EQ(actual.model.ops.size(), expected.model.ops.size());
  for (std::size_t i = 0; i < expected.model.ops.size(); ++i) {
    const Op& a = actual.model.ops[i];
    const Op& b = expected.model.ops[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(canonical(a.attributes, a.post_ops), canonical(b.attributes, b.post_ops)) << b.name;
    EXPECT_EQ(signature_of(actual.model, a), signature_of(expected.model, b));
    ASSERT_EQ(a.inputs.size(), b.inputs.size()) << b.name;
    for (std::size_t k = 0; k < b.inputs.size(); ++k) {
      const Tensor& from = expected.model.tensor(b.inputs[k]);
      EXPECT_EQ(actual.model.tensor(a.inputs[k]).name, from.name);
      if (from.role != TensorRole::kWeight) continue;
      EXPECT_EQ(*actual.weights.of(a.inputs[k]), *expected.weights.of(b.inputs[k])) << from.name;
    }
    EXPECT_EQ(actual.model.tensor(a.outputs[0]).name, expected.model.tensor(b.outputs[0]).name);
  }
  ASSERT_EQ(actual.model.outputs.size(), expected.model.outputs.size());
  for (std::size_t i = 0; i < expected.model.outputs.size(); ++i)
    EXPECT_EQ(actual.model.tensor(actual.model.outputs[i]).name, expected.model.tensor(expected.model.outputs[i]).name);
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, GivesBackTheNetwork) {
  const LoadedModel loaded = with_weights(*make_network(GetParam(), 2, {}));
  expect_same(written_and_read(loaded), loaded);
}

TEST_P(RoundTrip, GivesBackTheSimplifiedNetworkOnceSimplifiedAgain) {
  const LoadedModel simple = simplify(with_weights(*make_network(GetParam(), 2, {})));
  expect_same(simplify(written_and_read(simple)), simple);
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const Network& network : networks()) {
    // The largest have nothing that the others have not.
    if (parameter_count(*make_network(network.name, 1, {})) < 20'000'000) names.emplace_back(network.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Networks, RoundTrip, testing::ValuesIn(network_names()),
                         [](const auto& each) { return each.param; });

TEST(OnnxRoundTrip, KeepsEveryKindOfOp) {
  ModelBuilder b("all");
  const TensorId input = b.input("x", {2, 4, 9, 9});
  TensorId x =
      b.add("conv", Convolution{{{3, 2}, {2, 1}, {1, 0}, {0, 1}, {1, 2}}, 2}, {input, b.weight("w", {6, 2, 3, 2})});
  x = b.add("lrn", LocalResponseNormalization{3, 2e-4F, 0.5F, 1.5F}, {x});
  x = b.add("max", Pool{PoolKind::kMax, {{2, 2}, {2, 2}, {1, 0}, {0, 1}, {1, 2}}, true, false}, {x});
  x = b.add("average", Pool{PoolKind::kAverage, {{2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, false, true}, {x});
  x = b.add("leaky", Activation{ActivationKind::kLeakyRelu, 0.1F, 0}, {x});
  x = b.add("elu", Activation{ActivationKind::kElu, 0.7F, 0}, {x});
  x = b.add("clip", Activation{ActivationKind::kClip, -0.5F, std::numeric_limits<float>::max()}, {x});
  x = b.add("sigmoid", Activation{ActivationKind::kSigmoid, 0, 0}, {x});
  x = b.add("tanh", Activation{ActivationKind::kTanh, 0, 0}, {x});
  const TensorId scale = b.weight("scale", {6, 1, 1});
  x = b.add("mul", Binary{BinaryKind::kMul}, {x, scale});
  x = b.add("div", Binary{BinaryKind::kDiv}, {x, scale});
  x = b.add("sub", Binary{BinaryKind::kSub}, {x, b.weight("offset", {1})});
  x = b.add("concat", Concat{2}, {x, x});
  x = b.add("softmax", Softmax{2}, {x});
  b.output(b.relu("relu", x));
  const LoadedModel loaded = with_weights(*b.finish());
  expect_same(written_and_read(loaded), loaded);
}

TEST(OnnxRoundTrip, KeepsWhatQuantizingLeaves) {
  for (const float from : {0.0F, -128.0F, -255.0F}) {
    ModelBuilder b("quantized");
    const TensorId x = b.input("x", {2, 50});
    b.output(b.add("quantized", Activation{ActivationKind::kFakeQuantize, 0.0125F, from}, {x}));
    const Result<Model> model = b.finish();
    ASSERT_TRUE(model) << model.error().message;
    const LoadedModel loaded = with_weights(*model);
    const LoadedModel read = simplify(written_and_read(loaded));
    expect_same(read, loaded);
    const auto inputs = random_inputs(loaded.model, 3);
    EXPECT_EQ(evaluate(read, inputs).value(), evaluate(loaded, inputs).value());
  }
}

TEST(OnnxRoundTrip, FindsANormalizationByTheRootMeanSquareAgain) {
  for (const bool shifted : {false, true}) {
    for (const bool newer : {false, true}) {
      ModelBuilder b("m");
      TensorId x = b.input("x", {2, 3, 4});
      // A file with a Gelu is of opset 20, in which a mean's axes are an input.
      if (newer) x = b.add("gelu", Activation{ActivationKind::kGelu, 0, 0}, {x});
      std::vector<TensorId> inputs{x, b.weight("scale", {4})};
      if (shifted) inputs.push_back(b.weight("shift", {4}));
      b.output(b.add("norm", LayerNormalization{2, 0.1F, false}, inputs));
      const LoadedModel loaded = with_weights(*b.finish());
      const LoadedModel read = simplify(written_and_read(loaded));
      ASSERT_EQ(read.model.ops.size(), loaded.model.ops.size());
      EXPECT_EQ(canonical(read.model.ops.back().attributes, {}), canonical(loaded.model.ops.back().attributes, {}));
      const auto input = random_inputs(loaded.model, 3);
      EXPECT_EQ(evaluate(read, input).value(), evaluate(loaded, input).value());
    }
  }
}

TEST(OnnxRoundTrip, KeepsNodeAndTensorNamesThatDiffer) {
  ModelBuilder b("m");
  b.output(b.relu("the op", b.input("x", {1, 2})));
  Model model = *b.finish();
  model.tensors[1].name = "the tensor";
  const LoadedModel loaded = with_weights(std::move(model));
  expect_same(written_and_read(loaded), loaded);
}

LoadedModel resized(const Resize& resize) {
  ModelBuilder b("m");
  b.output(b.add("resize", resize, {b.input("x", {1, 2, 2, 6})}));
  return with_weights(*b.finish());
}

void expect_same_values(const LoadedModel& loaded) {
  const auto inputs = random_inputs(loaded.model, 3);
  EXPECT_EQ(*evaluate(written_and_read(loaded), inputs), *evaluate(loaded, inputs));
}

TEST(OnnxRoundTrip, KeepsWhatAResizePicksAtPositionsThatLaterOpsetsDropped) {
  Resize resize;
  resize.positions = ResizePositions::kHalfPixelNearest;
  resize.shape = {1, 2, 5, 3};
  resize.scale = {1, 1, 2.5, 0.5};
  for (const auto rounding :
       {ResizeRounding::kPreferFloor, ResizeRounding::kPreferCeil, ResizeRounding::kFloor, ResizeRounding::kCeil}) {
    resize.rounding = rounding;
    expect_same_values(resized(resize));
  }
}

TEST(OnnxRoundTrip, KeepsScalesThatFloat32WouldRound) {
  Resize resize;
  resize.rounding = ResizeRounding::kPreferCeil;
  resize.shape = {1, 2, 2, 1};
  resize.scale = {1, 1, 1, 1.0 / 6};  // the one position is halfway between two elements
  expect_same_values(resized(resize));
  resize.shape = {1, 2, 4, 10};
  resize.scale = {1, 1, 1.7, 1.7};  // one scale for both axes, extents rounded: as a policy of equal scales gives
  resize.rounding = ResizeRounding::kFloor;
  expect_same_values(resized(resize));
}

std::string refusal(ModelBuilder& b, TensorId y) {
  b.output(y);
  const Result<Model> model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  const Result<std::string> bytes = onnx::serialize_model(with_weights(*model));
  return bytes ? std::string("written") : bytes.error().message;
}

TEST(OnnxRoundTrip, KeepsAveragesThatCountPadsAndRoundUpOnOneAxisOnly) {
  ModelBuilder b("m");
  const Pool by_axis{PoolKind::kAverage, {{2, 2}, {4, 2}, {0, 0}, {1, 0}, {1, 1}}, true, true};
  b.output(b.add("pool", by_axis, {b.input("x", {1, 1, 4, 5})}));
  const LoadedModel loaded = with_weights(*b.finish());
  const LoadedModel read = written_and_read(loaded);
  std::vector<float> x(20);
  std::iota(x.begin(), x.end(), 1.0F);
  const auto computed = evaluate(read, {x});
  ASSERT_TRUE(computed) << computed.error().message;
  // Rows 0 and 1; columns 0 and 1, 2 and 3, then 4 alone: what rounding up adds does not count.
  EXPECT_EQ(*computed, (std::vector<std::vector<float>>{{4, 6, 7.5F}}));
  EXPECT_EQ(*evaluate(loaded, {x}), *computed);
}

TEST(OnnxRoundTrip, RefusesWhatOnnxCannotSay) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {1, 1, 4, 5});
  const ConvTranspose wider{{{3, 3}, {1, 1}, {-1, 0}, {0, 0}, {1, 1}}, {0, 0}, 1};
  EXPECT_THAT(refusal(b, b.add("up", wider, {x, b.weight("w", {1, 1, 3, 3})})),
              HasSubstr("op up: rows before the first, pads below 0, cannot be written"));
  ModelBuilder d("m");
  EXPECT_THAT(refusal(d, d.add("sum", Reduce{ReduceKind::kSum, {}, true}, {d.input("x", {2, 3})})),
              HasSubstr("op sum: a reduction of no axes cannot be written"));
  Resize linear;
  linear.mode = ResizeMode::kLinear;
  linear.positions = ResizePositions::kHalfPixelNearest;
  linear.shape = {1, 2, 4, 6};
  linear.scale = {1, 1, 2, 1};
  const auto dropped = onnx::serialize_model(resized(linear));
  ASSERT_FALSE(dropped);
  EXPECT_THAT(dropped.error().message, HasSubstr("op resize: its positions, tf_half_pixel_for_nn, have left ONNX"));
  linear.positions = ResizePositions::kHalfPixel;
  linear.scale = {1, 1, 1.7, 1};
  const auto rounded = onnx::serialize_model(resized(linear));
  ASSERT_FALSE(rounded);
  EXPECT_THAT(rounded.error().message, HasSubstr("its scales neither are float32 and give its extents"));
}

/// The nodes of a file by type, in order.
std::vector<std::string> node_types(const std::string& bytes) {
  ::onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

std::vector<float> counted(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST(OnnxRoundTrip, KeepsWhatAGemmOverStackedModelsComputes) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3, 2, 2});
  b.output(b.add("stack", Gemm{true}, {x, b.weight("w", {2, 5, 4}), b.weight("b", {2, 5})}));
  const LoadedModel loaded = with_weights(*b.finish());
  const std::string bytes = onnx::serialize_model(loaded).value();
  EXPECT_THAT(node_types(bytes), ElementsAre("Reshape", "MatMul", "Add"));
  const auto written = *evaluate(onnx::parse_model(bytes, {}).value(), {counted(24)});
  const auto meant = *evaluate(loaded, {counted(24)});
  EXPECT_THAT(written, ElementsAre(Pointwise(FloatNear(1e-4F), meant.at(0))));
}

/// Slices [begin, begin + count) of the second axis of x [2, 6].
LoadedModel sliced(const std::vector<std::pair<std::int64_t, std::int64_t>>& slices) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 6});
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto& [begin, count] = slices[i];
    b.output(b.add(fmt::format("slice{}", i), TensorSlice{{0, begin}, {1, 1}, {2, count}}, {x}));
  }
  return with_weights(*b.finish());
}

TEST(OnnxRoundTrip, WritesSlicesThatAreAWholeTensorAsOneSplit) {
  const LoadedModel whole = sliced({{3, 3}, {0, 2}, {2, 1}});
  const std::string bytes = onnx::serialize_model(whole).value();
  EXPECT_THAT(node_types(bytes), ElementsAre("Split"));
  EXPECT_EQ(*evaluate(onnx::parse_model(bytes, {}).value(), {counted(12)}), *evaluate(whole, {counted(12)}));
}

TEST(OnnxRoundTrip, KeepsSlicesThatOverlapOrLeaveSomethingOut) {
  EXPECT_THAT(node_types(onnx::serialize_model(sliced({{0, 4}, {3, 3}})).value()), ElementsAre("Slice", "Slice"));
  EXPECT_THAT(node_types(onnx::serialize_model(sliced({{0, 3}, {4, 2}})).value()), ElementsAre("Slice", "Slice"));
}

TEST(OnnxRoundTrip, PutsLargeWeightsIntoASecondFileWhereTheyDoNotFitOne) {
  const TemporaryFolder folder;
  const LoadedModel loaded = with_weights(*make_network("mlp", 2, {}));
  const onnx::ModelFiles one = onnx::serialize_model(loaded, "mlp.onnx.data").value();
  EXPECT_EQ(one.data, "");
  const onnx::ModelFiles two = onnx::serialize_model(loaded, "mlp.onnx.data", Bytes{1000}).value();
  EXPECT_GT(two.data.size(), 100 * two.model.size());
  ASSERT_TRUE(write_file(folder.path() / "mlp.onnx", two.model, Overwrite::kNever));
  ASSERT_TRUE(write_file(folder.path() / "mlp.onnx.data", two.data, Overwrite::kNever));
  const auto read = onnx::read_model(folder.path() / "mlp.onnx", {});
  ASSERT_TRUE(read) << read.error().message;
  expect_same(*read, loaded);
}

TEST(OnnxRoundTrip, WritesWeightsOnceThatSeveralOpsRead) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {3, 2, 4});
  const TensorId w = b.weight("w", {20, 4}), r = b.weight("r", {20, 5}), bias = b.weight("b", {20});
  for (const char* name : {"one", "two"}) b.output(b.add(name, Lstm{5}, {x, w, r, bias}));
  const LoadedModel loaded = with_weights(*b.finish());
  const std::string bytes = onnx::serialize_model(loaded).value();
  EXPECT_LT(bytes.size(), 2 * 4 * (20 * 4 + 20 * 5 + 2 * 20));
  const auto read = onnx::parse_model(bytes, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*evaluate(*read, {counted(24)}), *evaluate(loaded, {counted(24)}));
}

TEST(OnnxRoundTrip, RefusesWeightsWithoutValues) {
  ModelBuilder b("m");
  b.output(b.linear("fc", b.input("x", {2, 3}), 4));
  Model model = *b.finish();
  Weights none;
  none.by_tensor.resize(model.tensors.size());
  const Result<std::string> bytes = onnx::serialize_model({model, none});
  ASSERT_FALSE(bytes);
  EXPECT_THAT(bytes.error().message, HasSubstr("weight fc.weight has no values"));
}

TEST(Load, GivesBuiltInNetworksSimplifiedWithWeightsOfTheSeed) {
  const ModelSource source{"mlp", {{"hidden", "32"}}, 4};
  const Result<LoadedModel> loaded = onnx::load(source, 3);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Result<Model> model = make_network("mlp", 4, source.arguments);
  const LoadedModel expected = simplify({*model, random_weights(*model, 3)});
  expect_same(*loaded, expected);
}

TEST(Load, NamesAFileThatIsNotThere) {
  const Result<LoadedModel> loaded = onnx::load({"missing.onnx", {}, 1}, 0);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(loaded.error().message, HasSubstr("missing.onnx"));
}

TEST(Load, RefusesAMinibatchThatTheFileDoesNotHave) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "mlp.onnx";
  const Result<std::string> bytes = onnx::serialize_model(with_weights(*make_network("mlp", 4, {})));
  ASSERT_TRUE(write_file(path, *bytes, Overwrite::kAllow));
  EXPECT_TRUE(onnx::load({path.string(), {}, 4}, 0));
  const Result<LoadedModel> other = onnx::load({path.string(), {}, 8}, 0);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("input input has shape [4, 784], so the minibatch cannot be 8"));
}

TEST(Load, TakesWholeNumbersAsDimensionsOfAFile) {
  const Result<LoadedModel> loaded = onnx::load({"a.onnx", {{"seq", "3x"}}, 1}, 0);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message, HasSubstr("a.onnx: dimension seq must be a whole number from 1 to"));
}

/// ONNX Runtime counts what lies behind the pads as well where it is to round up and to count pads, before opset 19.
TEST(OnnxWriter, DoesNotLeaveToTheRuntimeWhatAnAverageCounts) {
  for (const std::int64_t pad : {0, 1}) {
    ModelBuilder b("average");
    const Window window{{3, 3}, {2, 2}, {pad, pad}, {pad, pad}, {1, 1}};
    b.output(
        b.add("pool", Pool{PoolKind::kAverage, window, true, true}, {b.input("x", {1, 2, 4 + 2 * pad, 4 + 2 * pad})}));
    const LoadedModel pool = with_weights(b.finish().value());
    ::onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(onnx::serialize_model(pool).value()));
    for (const auto& node : proto.graph().node()) {
      for (const auto& attribute : node.attribute()) EXPECT_NE(attribute.name(), "ceil_mode") << node.op_type();
    }
    const auto inputs = random_inputs(pool.model, 3);
    EXPECT_THAT(evaluate(written_and_read(pool), inputs).value()[0],
                Pointwise(FloatNear(1e-6F), evaluate(pool, inputs).value()[0]));
  }
}

}  // namespace
}  // namespace cohort
