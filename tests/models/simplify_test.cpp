#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "models/builder.hpp"
#include "models/networks/networks.hpp"
#include "tests/models/evaluate.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;

LoadedModel with_weights(Model model, std::uint64_t seed = 1) {
  Weights weights = random_weights(model, seed);
  return {std::move(model), std::move(weights)};
}

LoadedModel finish(ModelBuilder& b) {
  Result<Model> model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  return with_weights(*std::move(model));
}

/// Simplified, valid, and with the same outputs by name, shape and value.
LoadedModel checked_simplify(const LoadedModel& loaded) {
  LoadedModel simple = simplify(loaded);
  const Result<void> valid = validate(simple.model);
  EXPECT_TRUE(valid) << valid.error().message;
  EXPECT_EQ(simple.weights.by_tensor.size(), simple.model.tensors.size());
  EXPECT_EQ(simple.model.outputs.size(), loaded.model.outputs.size());
  for (std::size_t i = 0; i < simple.model.outputs.size(); ++i) {
    const Tensor& before = loaded.model.tensor(loaded.model.outputs[i]);
    const Tensor& after = simple.model.tensor(simple.model.outputs[i]);
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.shape, before.shape);
  }
  const auto inputs = random_inputs(loaded.model, 5);
  const auto expected = evaluate(loaded, inputs);
  const auto actual = evaluate(simple, inputs);
  EXPECT_TRUE(expected) << expected.error().message;
  EXPECT_TRUE(actual) << actual.error().message;
  for (std::size_t i = 0; expected && actual && i < expected->size(); ++i) {
    const double largest = static_cast<double>(*std::max_element((*expected)[i].begin(), (*expected)[i].end()));
    EXPECT_LT(excess((*actual)[i], (*expected)[i], 1e-4), 1e-5 + 1e-5 * std::abs(largest));
  }
  return simple;
}

std::vector<std::string> op_texts(const Model& model) {
  std::vector<std::string> texts;
  for (const Op& op : model.ops) {
    std::string text = op.name + ": " + std::string(op_type(op.attributes));
    for (const PostOp& post_op : op.post_ops) {
      const auto* activation = std::get_if<Activation>(&post_op);
      text += activation != nullptr ? " + " + std::string(op_type(*activation)) : std::string(" + AddOperand");
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(Simplify, LeavesAWeightToAllOpsThatShareIt) {
  ModelBuilder b("shared");
  const TensorId w = b.weight("w", {6, 6});
  const TensorId bias = b.weight("b", {6});
  TensorId x = b.input("x", {2, 6});
  for (int i = 0; i < 3; ++i) {
    const TensorId product = b.add(fmt::format("fc{}", i), Gemm{}, {x, w});
    x = b.add(fmt::format("add{}", i), Binary{BinaryKind::kAdd}, {product, bias});
  }
  b.output(x);
  const LoadedModel simple = checked_simplify(finish(b));
  ASSERT_EQ(simple.model.ops.size(), 3U);
  for (const Op& op : simple.model.ops) EXPECT_EQ(simple.model.tensor(op.inputs[1]).name, "w");
}

TEST(Simplify, LeavesOneOpPerLayerOfAlexnet5) {
  const LoadedModel simple = simplify(with_weights(*make_network("alexnet5", 1, {})));
  EXPECT_THAT(op_texts(simple.model),
              ElementsAre("conv1: Convolution + Relu", "pool1: MaxPool", "conv2: Convolution + Relu", "pool2: MaxPool",
                          "conv3: Convolution + Relu", "pool3: MaxPool", "fc1: Gemm + Relu", "fc2: Gemm"));
}

TEST(Simplify, MakesResidualsAndNormalizationPartOfConvolutions) {
  const LoadedModel simple = simplify(with_weights(*make_network("resnet18", 1, {})));
  std::vector<std::string> texts = op_texts(simple.model);
  EXPECT_EQ(texts.size(), 20U + 1 + 1 + 1);  // convolutions, two pools, one matrix product
  texts.resize(9);
  EXPECT_THAT(texts,
              ElementsAre("conv1: Convolution + Relu", "pool1: MaxPool", "layer1.0.conv1: Convolution + Relu",
                          "layer1.0.conv2: Convolution + AddOperand + Relu", "layer1.1.conv1: Convolution + Relu",
                          "layer1.1.conv2: Convolution + AddOperand + Relu", "layer2.0.conv1: Convolution + Relu",
                          "layer2.0.conv2: Convolution", "layer2.0.shortcut: Convolution + AddOperand + Relu"));
  // Folding turns 2 * 4800 scales and shifts and as many statistics into 4800 biases.
  EXPECT_EQ(parameter_count(simple.model), 11'689'512 - 2 * 4800 + 4800);
}

TEST(Simplify, KeepsTheOutputsOfEveryNetwork) {
  const auto check = [](std::string_view name, std::int64_t image, const NetworkArguments& arguments) {
    Model model = *make_network(name, 2, arguments);
    checked_simplify(with_weights(image > 0 ? with_smaller_image(std::move(model), image) : std::move(model)));
  };
  check("alexnet5", 67, {{"hidden", "64"}});
  check("densenet121", 33, {});
  check("encoder", 0, {{"tokens", "10"}, {"width", "16"}});
  check("gru", 0, {{"hidden", "16"}});
  check("lenet5", 0, {});
  check("lstm", 0, {});
  check("mlp", 0, {});
  check("mobilenet_v2", 33, {});
  check("resnet18", 33, {});
  check("smallcnn", 67, {});
  check("squeezenet1_1", 67, {});
}

TEST(Simplify, DoesNothingTheSecondTime) {
  for (const Network& network : networks()) {
    Model model = *make_network(network.name, 1, {});
    if (parameter_count(model) > 20'000'000) continue;  // nothing that the smaller ones have not
    const LoadedModel once = simplify(with_weights(std::move(model)));
    const LoadedModel twice = simplify(once);
    EXPECT_EQ(op_texts(twice.model), op_texts(once.model)) << network.name;
    EXPECT_EQ(twice.model.tensors.size(), once.model.tensors.size());
  }
}

TEST(Simplify, ComputesTheOtherOperandFirst) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {1, 2, 4, 4});
  const TensorId main = b.convolution("main", x, {.channels = 2});
  const TensorId side = b.max_pool("side", x, 3, 1, 1);
  b.output(b.add("add", Binary{BinaryKind::kAdd}, {main, side}));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("side: MaxPool", "main: Convolution + AddOperand"));
}

TEST(Simplify, KeepsATensorThatIsAnOutput) {
  ModelBuilder b("m");
  const TensorId y = b.convolution("conv", b.input("x", {1, 2, 4, 4}), {.channels = 3});
  b.output(y);
  const TensorId r = b.relu("relu", y);
  b.output(r);
  b.output(b.flatten("flatten", r));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("conv: Convolution", "relu: Relu", "flatten: Reshape"));
}

TEST(Simplify, KeepsAnActivationThatOthersReadTheInputOf) {
  ModelBuilder b("m");
  const TensorId y = b.convolution("conv", b.input("x", {1, 2, 4, 4}), {.channels = 2});
  const TensorId r = b.relu("relu", y);
  b.output(b.add("mul", Binary{BinaryKind::kMul}, {y, r}));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("conv: Convolution", "relu: Relu", "mul: Mul"));
}

TEST(Simplify, KeepsTheWeightsOfOpsThatShareThem) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {1, 2, 4, 4});
  const TensorId w = b.weight("w", {2, 2, 1, 1});
  const Convolution attributes{{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, 1};
  const TensorId plain = b.add("plain", attributes, {x, w});
  const TensorId normalized = b.add("normalized", attributes, {x, w});
  std::vector<TensorId> inputs{normalized};
  for (const char* name : {"scale", "shift", "mean", "variance"}) inputs.push_back(b.weight(name, {2}));
  b.output(plain);
  b.output(b.add("bn", BatchNormalization{}, inputs));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("plain: Convolution", "normalized: Convolution"));
}

TensorId batch_normalized(ModelBuilder& b, const std::string& name, TensorId x) {
  std::vector<TensorId> inputs{x};
  for (const char* operand : {".scale", ".shift", ".mean", ".variance"})
    inputs.push_back(b.weight(name + operand, {b.shape(x)[1]}));
  return b.add(name, BatchNormalization{0.1F}, inputs);
}

TEST(Simplify, FoldsNormalizationIntoAConvolutionOrProductWithOrWithoutBias) {
  for (const bool bias : {false, true}) {
    ModelBuilder b("m");
    TensorId x = b.input("x", {2, 4, 5, 5});
    x = batch_normalized(b, "bn1", b.convolution("conv", x, {.channels = 6, .kernel = 3, .groups = 2, .bias = bias}));
    b.output(batch_normalized(b, "bn2", b.linear("fc", b.relu("relu", x), 5)));
    const LoadedModel simple = checked_simplify(finish(b));
    EXPECT_THAT(op_texts(simple.model), ElementsAre("conv: Convolution + Relu", "fc: Gemm"));
    EXPECT_EQ(simple.model.ops[0].inputs.size(), 3U);  // the shift has become a bias
  }
}

TEST(Simplify, MakesBranchesThatAreAddedOneConvolution) {
  for (const std::int64_t groups : {1, 2, 6}) {
    for (const std::int64_t stride : {1, 2}) {
      ModelBuilder b("m");
      const Binary add{BinaryKind::kAdd};
      const TensorId x = b.relu("first", b.input("x", {2, 6, 7, 8}));
      const TensorId point = b.convolution("point", x, {.channels = 6, .stride = stride, .groups = groups});
      const TensorId wide = b.convolution(
          "wide", x, {.channels = 6, .kernel = 3, .stride = stride, .pad = 1, .groups = groups, .bias = false});
      TensorId sum = b.add("sum", add, {batch_normalized(b, "bn1", point), batch_normalized(b, "bn2", wide)});
      if (stride == 1) sum = b.add("sum2", add, {batch_normalized(b, "bn3", x), sum});
      b.output(b.relu("relu", sum));
      EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("first: Relu", "wide: Convolution + Relu"))
          << groups << " groups, stride " << stride;
    }
  }
}

TEST(Simplify, KeepsBranchesThatNoOneConvolutionComputes) {
  const auto simplified = [](const ModelBuilder::ConvolutionOptions& first,
                             const ModelBuilder::ConvolutionOptions& second, bool same_input) {
    ModelBuilder b("m");
    const TensorId x = b.input("x", {1, 4, 6, 6});
    const TensorId z = same_input ? x : b.input("z", {1, 4, 6, 6});
    const TensorId one = b.convolution("a", x, first);
    b.output(b.add("sum", Binary{BinaryKind::kAdd}, {one, b.convolution("b", z, second)}));
    return op_texts(checked_simplify(finish(b)).model);
  };
  const auto kept = ElementsAre("a: Convolution", "b: Convolution + AddOperand");
  const ModelBuilder::ConvolutionOptions wide{.channels = 4, .kernel = 3, .pad = 1};
  const ModelBuilder::ConvolutionOptions point{.channels = 4};
  EXPECT_THAT(simplified(wide, point, true), ElementsAre("a: Convolution"));
  EXPECT_THAT(simplified(wide, point, false), kept);
  EXPECT_THAT(simplified(wide, {.channels = 4, .groups = 2}, true), kept);
  // Windows without pads that begin at the same elements.
  const ModelBuilder::ConvolutionOptions pair{.channels = 4, .kernel = 2, .stride = 2};
  EXPECT_THAT(simplified(pair, {.channels = 4, .stride = 2}, true), ElementsAre("a: Convolution"));
  EXPECT_THAT(simplified(pair, {.channels = 4, .kernel = 4, .stride = 2, .pad = 1}, true),
              ElementsAre("b: Convolution"));
}

TEST(Simplify, KeepsBranchesOfWhichOneIsRepeated) {
  for (const std::int64_t kernel : {1, 7}) {
    ModelBuilder b("m");
    const TensorId x = b.input("x", {1, 4, 3, 3});
    const TensorId full = b.convolution("full", x, {.channels = 4, .kernel = kernel, .pad = kernel / 2});
    const TensorId single = b.convolution("single", x, {.channels = 4, .kernel = 3});
    b.output(b.add("sum", Binary{BinaryKind::kAdd}, {full, single}));
    const TensorId alone = b.convolution("alone", x, {.channels = 4, .kernel = 3});
    b.output(b.add("sum2", Binary{BinaryKind::kAdd}, {batch_normalized(b, "bn", x), alone}));
    EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
                ElementsAre("full: Convolution", "single: Convolution", "sum: Add", "alone: Convolution",
                            "bn: BatchNormalization", "sum2: Add"));
  }
}

TEST(Simplify, KeepsBranchesThatOthersReadAsWell) {
  ModelBuilder b("m");
  const Binary add{BinaryKind::kAdd};
  const TensorId x = b.input("x", {1, 4, 6, 6});
  const TensorId read = b.convolution("read", x, {.channels = 4});
  b.output(b.add("sum", add, {b.convolution("wide", x, {.channels = 4, .kernel = 3, .pad = 1}), read}));
  b.output(b.relu("relu", read));
  const TensorId twice = b.convolution("twice", x, {.channels = 4});
  b.output(b.add("double", add, {twice, twice}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("read: Convolution", "wide: Convolution + AddOperand", "relu: Relu", "twice: Convolution",
                          "double: Add"));
}

TEST(Simplify, FoldsArithmeticWithConstantsPerChannel) {
  ModelBuilder b("m");
  TensorId x = b.convolution("conv", b.input("x", {2, 2, 4, 4}), {.channels = 3, .bias = false});
  x = b.add("mul", Binary{BinaryKind::kMul}, {x, b.weight("a", {3, 1, 1})});
  x = b.add("sub", Binary{BinaryKind::kSub}, {b.weight("b", {1, 3, 1, 1}), x});
  x = b.add("div", Binary{BinaryKind::kDiv}, {x, b.weight("c", {1})});
  x = b.linear("fc", x, 5);
  x = b.add("add", Binary{BinaryKind::kAdd}, {b.weight("d", {5}), x});
  b.output(x);
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("conv: Convolution", "fc: Gemm"));
}

TEST(Simplify, KeepsArithmeticThatIsNotPerChannel) {
  ModelBuilder b("m");
  TensorId x = b.convolution("conv", b.input("x", {2, 3, 3, 3}), {.channels = 3});
  x = b.add("by_column", Binary{BinaryKind::kMul}, {x, b.weight("a", {3})});
  x = b.add("widen", Binary{BinaryKind::kAdd}, {x, b.weight("b", {2, 1, 3, 1, 1})});
  b.output(x);
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("conv: Convolution", "by_column: Mul", "widen: Add"));
}

TEST(Simplify, MakesAnActivationPartOfAnAddition) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3});
  b.output(b.relu("relu", b.add("add", Binary{BinaryKind::kAdd}, {x, b.input("z", {2, 3})})));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("add: Add + Relu"));
}

TEST(Simplify, MakesFunctionsPartOfTheElementwiseOpBeforeThem) {
  ModelBuilder b("m");
  const auto apply = [&](const std::string& name, ActivationKind kind, TensorId x) {
    return b.add(name, Activation{kind}, {x});
  };
  const TensorId x = b.input("x", {2, 3}), z = b.input("z", {3});
  TensorId y = b.add("difference", Binary{BinaryKind::kSub}, {x, z});
  y = apply("round", ActivationKind::kRound,
            apply("root", ActivationKind::kSqrt, apply("abs", ActivationKind::kAbs, y)));
  b.output(apply("floor", ActivationKind::kFloor, apply("neg", ActivationKind::kNeg, y)));
  const LoadedModel loaded = finish(b);
  EXPECT_THAT(op_texts(checked_simplify(loaded).model),
              ElementsAre("difference: Sub + Abs + Sqrt + Round", "neg: Neg + Floor"));
  EXPECT_EQ(simplify(loaded, /*strict_nan=*/true).model.ops.size(), 6);
}

/// Functions that a library would mix up within a product.
TEST(Simplify, ChainsAnyFunctionsBehindElementwiseOps) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3}), z = b.input("z", {2, 3});
  const Activation one{ActivationKind::kElu, 1, 0}, half{ActivationKind::kElu, 0.5F, 0};
  b.output(b.add("half", half, {b.add("one", one, {b.add("sum", Binary{BinaryKind::kAdd}, {x, z})})}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("sum: Add + Elu + Elu"));
}

TEST(Simplify, KeepsFunctionsBehindWhatIsNotOneFloatForEachOrThatOthersRead) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3}), z = b.input("z", {2, 3});
  const TensorId less = b.add("less", Binary{BinaryKind::kLess}, {x, z});
  const TensorId truth = b.add("truth", Cast{ElementType::kInt32, ElementType::kFloat32}, {less});
  b.output(b.add("neg", Activation{ActivationKind::kNeg}, {truth}));
  const TensorId product = b.add("product", Binary{BinaryKind::kMul}, {x, z});
  b.output(b.relu("relu", product));
  b.output(b.add("sum", Binary{BinaryKind::kAdd}, {product, z}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("less: Less", "truth: Cast", "neg: Neg", "product: Mul", "relu: Relu", "sum: Add"));
}

TEST(Simplify, MakesAFunctionThatWasSeveralOpsPartOfAConvolution) {
  ModelBuilder b("net");
  const TensorId x = b.input("x", {2, 3, 5, 5});
  const TensorId y = b.convolution("conv", x, {.channels = 8});
  const TensorId gate = b.add("gate", Activation{ActivationKind::kSigmoid}, {y});
  b.output(b.add("gated", Binary{BinaryKind::kMul}, {y, gate}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("conv: Convolution + Swish"));
}

TEST(Simplify, KeepsActivationsThatPassNanOnWhereAsked) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3});
  const TensorId sum = b.add("sum", Binary{BinaryKind::kAdd}, {b.linear("fc", x, 4), b.input("z", {2, 4})});
  b.output(b.relu("relu", sum));
  const LoadedModel loaded = finish(b);
  EXPECT_THAT(op_texts(simplify(loaded).model), ElementsAre("fc: Gemm + AddOperand + Relu"));
  EXPECT_THAT(op_texts(simplify(loaded, true).model), ElementsAre("fc: Gemm + AddOperand", "relu: Relu"));
}

TEST(Simplify, ChainsNoTwoFunctionsThatLibrariesMixUp) {
  const Activation relu, leaky{ActivationKind::kLeakyRelu, 0.5F, 0}, sigmoid{ActivationKind::kSigmoid, 0, 0};
  const Activation unit{ActivationKind::kClip, 0, 1}, wide{ActivationKind::kClip, 0, 6};
  const auto simplified = [](const std::vector<Activation>& chain) {
    ModelBuilder b("m");
    TensorId x = b.linear("fc", b.input("x", {2, 3}), 4);
    for (std::size_t i = 0; i < chain.size(); ++i) x = b.add(std::string(1, static_cast<char>('a' + i)), chain[i], {x});
    b.output(x);
    return op_texts(checked_simplify(finish(b)).model);
  };
  EXPECT_THAT(simplified({leaky, relu}), ElementsAre("fc: Gemm + LeakyRelu", "b: Relu"));
  EXPECT_THAT(simplified({relu, leaky}), ElementsAre("fc: Gemm + Relu", "b: LeakyRelu"));
  EXPECT_THAT(simplified({unit, sigmoid, wide}), ElementsAre("fc: Gemm + Clip + Sigmoid", "c: Clip"));
  EXPECT_THAT(simplified({unit, sigmoid, unit}), ElementsAre("fc: Gemm + Clip + Sigmoid + Clip"));
  EXPECT_THAT(simplified({relu, wide}), ElementsAre("fc: Gemm + Relu + Clip"));
}

TEST(Simplify, MakesARectifierAndNothingElsePartOfANormalization) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3, 4, 4});
  b.output(b.relu("relu", batch_normalized(b, "bn1", x)));
  b.output(b.add("tanh", Activation{ActivationKind::kTanh, 0, 0}, {batch_normalized(b, "bn2", x)}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("bn1: BatchNormalization + Relu", "bn2: BatchNormalization", "tanh: Tanh"));
}

TEST(Simplify, DropsOpsThatNothingReads) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3});
  b.relu("unread2", b.relu("unread1", x));
  b.output(b.relu("read", x));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("read: Relu"));
  EXPECT_EQ(simple.model.tensors.size(), 2U);
}

TEST(Simplify, RemovesOnlyReshapesThatKeepSamplesApart) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {4, 3, 2});
  b.output(b.linear("kept", b.reshape("mixes", x, {8, 3}), 2));
  b.output(b.linear("merged", b.reshape("flattens", x, {4, 6}), 2));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("mixes: Reshape", "kept: Gemm", "merged: Gemm"));
}

/// A product of the rows of [2, 3, inputs], as exporters write it: without a bias, and reshaped to [2, 3, outputs].
TensorId product_of_rows(ModelBuilder& b, const std::string& name, TensorId x, std::int64_t outputs) {
  const TensorId y = b.add(name, Gemm{}, {x, b.weight(name + ".w", {outputs, b.shape(x).back()})});
  return b.reshape(name + ".shaped", y, {2, 3, outputs});
}

TEST(Simplify, MakesWhatFollowsAReshapedProductPartOfIt) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 3, 4});
  const Binary add{BinaryKind::kAdd};
  const TensorId wide = product_of_rows(b, "up", b.reshape("rows", x, {6, 4}), 8);
  const TensorId biased = b.add("bias", add, {wide, b.weight("w1", {8})});
  const TensorId active = b.add("gelu", Activation{ActivationKind::kGelu}, {biased});
  const TensorId narrow = product_of_rows(b, "down", b.reshape("rows2", active, {6, 8}), 4);
  const TensorId shifted = b.add("bias2", add, {b.weight("w2", {1, 1, 4}), narrow});
  const TensorId scaled = b.add("scale", Binary{BinaryKind::kMul}, {shifted, b.weight("w3", {1})});
  b.output(b.add("residual", add, {x, scaled}));
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_THAT(op_texts(simple.model), ElementsAre("rows: Reshape", "up: Gemm + Gelu", "x.rows: Reshape",
                                                  "down: Gemm + AddOperand", "down.shaped: Reshape"));
}

TEST(Simplify, FoldsTheScaleOfAnImageIntoTheProductOfItsRows) {
  ModelBuilder b("m");
  const TensorId x = b.input("x", {2, 5, 3, 4});  // ConvNeXt's scale of a block
  const TensorId last = b.add("channels_last", Transpose{{0, 2, 3, 1}}, {x});
  const TensorId y = b.add("fc", Gemm{}, {b.reshape("rows", last, {24, 5}), b.weight("w", {5, 5})});
  const TensorId image = b.add("image", Transpose{{0, 3, 1, 2}}, {b.reshape("shaped", y, {2, 3, 4, 5})});
  const TensorId scaled = b.add("scale", Binary{BinaryKind::kMul}, {b.weight("s", {5, 1, 1}), image});
  b.output(b.add("residual", Binary{BinaryKind::kAdd}, {scaled, x}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("channels_last: Transpose", "rows: Reshape", "fc: Gemm", "shaped: Reshape",
                          "image: Transpose", "residual: Add"));
}

TEST(Simplify, ReadsAResidualAsTheRowsThatItWasMadeOf) {
  ModelBuilder b("m");
  const Binary add{BinaryKind::kAdd};
  const TensorId x = b.input("x", {6, 4});
  const TensorId first = product_of_rows(b, "first", x, 4);
  const TensorId second = product_of_rows(b, "second", b.reshape("rows", first, {6, 4}), 4);
  b.output(b.add("residual", add, {second, first}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("first: Gemm", "second: Gemm + AddOperand", "second.shaped: Reshape"));
}

TEST(Simplify, LeavesWhatFollowsAReshapedProductButIsNoPartOfIt) {
  ModelBuilder b("m");
  const Binary add{BinaryKind::kAdd};
  const TensorId x = b.input("x", {6, 4});
  // One value for each of three rows; more than the product has; columns that the shape divides otherwise.
  b.output(b.add("by_row", add, {product_of_rows(b, "a", x, 4), b.weight("wa", {3, 1})}));
  b.output(b.add("wider", add, {product_of_rows(b, "b", x, 4), b.weight("wb", {5, 1, 1, 4})}));
  const TensorId halves = b.reshape("halves", b.add("c", Gemm{}, {x, b.weight("c.w", {4, 4})}), {6, 2, 2});
  b.output(b.add("by_half", add, {halves, b.weight("wc", {2})}));
  // A comparison gives whole numbers.
  const TensorId more =
      b.add("more", Binary{BinaryKind::kGreater}, {product_of_rows(b, "e", x, 4), b.weight("we", {4})});
  b.output(b.add("chosen", Select{}, {more, b.input("y", {2, 3, 4}), b.weight("wf", {4})}));
  // The product itself is an output, or read by others as well.
  const TensorId shown = product_of_rows(b, "d", x, 4);
  b.output(shown);
  b.output(b.add("beside", add, {shown, b.weight("wd", {4})}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model),
              ElementsAre("a: Gemm", "a.shaped: Reshape", "by_row: Add", "b: Gemm", "b.shaped: Reshape", "wider: Add",
                          "c: Gemm", "halves: Reshape", "by_half: Add", "e: Gemm", "e.shaped: Reshape", "more: Greater",
                          "chosen: Select", "d: Gemm", "d.shaped: Reshape", "beside: Add"));
}

TEST(Simplify, FollowsAChainOfReshapesToWhereItEnds) {
  ModelBuilder b("m");
  TensorId x = b.relu("relu", b.input("x", {4, 3, 2}));
  x = b.reshape("there", x, {12, 2});
  x = b.reshape("back", x, {4, 3, 2});
  b.output(b.add("tanh", Activation{ActivationKind::kTanh, 0, 0}, {x}));
  EXPECT_THAT(op_texts(checked_simplify(finish(b)).model), ElementsAre("relu: Relu + Tanh"));
}

/// The functions behind a product, the last of which quantises.
std::vector<PostOp> behind_product(const std::vector<Activation>& functions) {
  ModelBuilder b("net");
  TensorId y = b.linear("fc", b.input("x", {2, 5}), 3);
  for (std::size_t i = 0; i < functions.size(); ++i) y = b.add("f" + std::to_string(i), functions[i], {y});
  b.output(y);
  const LoadedModel simple = checked_simplify(finish(b));
  EXPECT_EQ(simple.model.ops.size(), 1U);
  return simple.model.ops[0].post_ops;
}

TEST(Simplify, QuantizingBehindAProductIsPartOfItAndMakesWiderBoundsNeedless) {
  using Kind = ActivationKind;
  const Activation relu{Kind::kRelu}, clip{Kind::kClip, 0, 0.6F};
  const Activation from_zero{Kind::kFakeQuantize, 0.6F / 255, 0}, from_less{Kind::kFakeQuantize, 0.01F, -9};
  EXPECT_THAT(behind_product({from_less}), ElementsAre(PostOp{from_less}));
  EXPECT_THAT(behind_product({relu, from_zero}), ElementsAre(PostOp{from_zero}));
  EXPECT_THAT(behind_product({clip, from_zero}), ElementsAre(PostOp{from_zero}));
  EXPECT_THAT(behind_product({relu, from_less}), ElementsAre(PostOp{relu}, PostOp{from_less}));
}

}  // namespace
}  // namespace cohort
