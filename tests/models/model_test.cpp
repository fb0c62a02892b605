#include "models/model.hpp"

#include <gmock/gmock.h>

#include "models/builder.hpp"
#include "models/networks/networks.hpp"

namespace cohort {
namespace {

using testing::HasSubstr;

/// x [2, 3] -> relu -> y
Model small_model() {
  ModelBuilder b("small");
  b.output(b.relu("relu", b.input("x", {2, 3})));
  Result<Model> model = b.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *std::move(model);
}

std::string problem(const Model& model) {
  const Result<void> valid = validate(model);
  return valid ? std::string("valid") : valid.error().message;
}

TEST(Validate, AcceptsWhatTheBuilderMakes) { EXPECT_EQ(problem(small_model()), "valid"); }

TEST(Validate, NamesWhatIsWrong) {
  Model model = small_model();
  model.ops.push_back(model.ops[0]);
  EXPECT_THAT(problem(model), HasSubstr("two ops have the name relu"));

  model = small_model();
  model.ops.push_back(model.ops[0]);
  model.ops[1].name = "again";
  EXPECT_THAT(problem(model), HasSubstr("op again (Relu): writes tensor relu, which is written already"));

  model = small_model();
  model.ops[0].inputs[0] = TensorId(7);
  EXPECT_THAT(problem(model), HasSubstr("tensor number 7 does not exist"));

  model = small_model();
  model.ops[0].inputs[0] = model.ops[0].outputs[0];
  EXPECT_THAT(problem(model), HasSubstr("reads tensor relu before it is written"));

  model = small_model();
  model.tensors[1].shape = {2, 4};
  EXPECT_THAT(problem(model), HasSubstr("output relu has shape [2, 4], but the op gives [2, 3]"));

  model = small_model();
  model.tensors[1].name = "x";
  EXPECT_THAT(problem(model), HasSubstr("two tensors have the name x"));

  model = small_model();
  model.outputs = model.inputs;
  EXPECT_THAT(problem(model), HasSubstr("output x is not written by an op"));

  model = small_model();
  model.outputs.clear();
  EXPECT_THAT(problem(model), HasSubstr("no outputs"));

  model = small_model();
  model.ops[0].post_ops.emplace_back(AddOperand{0});
  EXPECT_THAT(problem(model), HasSubstr("takes 1 inputs, not 0"));

  model = small_model();
  model.ops[0].post_ops.assign(3, AddOperand{0});
  EXPECT_THAT(problem(model), HasSubstr("more post-op operands than inputs"));
}

TEST(Validate, RefusesPostOpsOfAnotherShape) {
  ModelBuilder b("add");
  const TensorId x = b.input("x", {2, 3});
  const TensorId other = b.input("other", {3});
  b.output(b.relu("relu", x));
  Model model = *b.finish();
  model.ops[0].inputs.push_back(other);
  model.ops[0].post_ops.emplace_back(AddOperand{1});
  EXPECT_THAT(problem(model), HasSubstr("post-op adds other of shape [3] to [2, 3]"));
  model.ops[0].post_ops[0] = AddOperand{0};
  EXPECT_THAT(problem(model), HasSubstr("post-op adds input 0, where 1 is next"));
}

TEST(Builder, KeepsTheFirstErrorAndNamesItsOp) {
  ModelBuilder b("broken");
  TensorId x = b.input("x", {2, 3});
  x = b.convolution("conv", x, {.channels = 4, .kernel = 3});
  x = b.max_pool("pool", x, 2, 2);
  x = b.flatten("flatten", x);
  x = b.linear("fc", x, 10);
  b.output(x);
  const Result<Model> model = b.finish();
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, HasSubstr("model broken: op conv (Convolution): x must be [N, C, H, W]"));
}

TEST(Signature, DiffersWithStrideShapeAndPostOps) {
  const auto signature = [](std::int64_t stride, std::int64_t extent, bool post_op) {
    ModelBuilder b("m");
    b.output(b.convolution("c", b.input("x", {1, 3, extent, extent}), {.channels = 4, .kernel = 1, .stride = stride}));
    Model model = *b.finish();
    if (post_op) model.ops[0].post_ops.emplace_back(Activation{});
    return signature_of(model, model.ops[0]);
  };
  EXPECT_EQ(signature(1, 1, false), signature(1, 1, false));
  // A 1x1 image gives the same shapes for every stride: the stride alone must tell them apart.
  EXPECT_NE(signature(1, 1, false), signature(2, 1, false));
  EXPECT_NE(signature(1, 1, false), signature(1, 2, false));
  EXPECT_NE(signature(1, 1, false), signature(1, 1, true));
}

TEST(Signature, DoesNotDependOnNames) {
  const auto signature = [](const std::string& name) {
    ModelBuilder b(name);
    b.output(b.linear(name, b.input(name + "x", {4, 8}), 2));
    const Model model = *b.finish();
    return signature_of(model, model.ops[0]);
  };
  EXPECT_EQ(signature("a"), signature("b"));
}

TEST(RandomWeights, AreEqualForEqualSeedsAndDifferForOthers) {
  const Model model = *make_network("lenet5", 1, {});
  const Weights a = random_weights(model, 7);
  const Weights b = random_weights(model, 7);
  const Weights c = random_weights(model, 8);
  bool differs = false;
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const bool is_weight = model.tensors[i].role == TensorRole::kWeight;
    ASSERT_EQ(a.by_tensor[i] != nullptr, is_weight);
    if (!is_weight) continue;
    EXPECT_EQ(*a.by_tensor[i], *b.by_tensor[i]);
    EXPECT_EQ(static_cast<std::int64_t>(a.by_tensor[i]->size()), element_count(model.tensors[i].shape));
    differs = differs || *a.by_tensor[i] != *c.by_tensor[i];
  }
  EXPECT_TRUE(differs);
}

TEST(RandomWeights, HaveTheFirstValuesThatEveryPlatformMustGive) {
  ModelBuilder b("m");
  b.output(b.linear("fc", b.input("x", {1, 6}), 2));
  const Model model = *b.finish();
  const Weights weights = random_weights(model, 0);
  const std::vector<float>& w = *weights.of(TensorId(1));
  EXPECT_EQ(w[0], 0x1.34f8e4p-1F);
  EXPECT_EQ(w[1], -0x1.5574fp-1F);
  EXPECT_EQ(w[2], -0x1.be3a4cp-1F);
}

TEST(RandomWeights, KeepVariancesPositive) {
  const Model model = *make_network("resnet18", 1, {});
  const Weights weights = random_weights(model, 3);
  for (const Op& op : model.ops) {
    if (!std::holds_alternative<BatchNormalization>(op.attributes)) continue;
    for (const float variance : *weights.of(op.inputs[4])) ASSERT_GE(variance, 0.5F);
  }
}

}  // namespace
}  // namespace cohort
