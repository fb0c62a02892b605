#include "simulator/plan/batch_model.hpp"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model mlp_of_two(std::int64_t minibatch) {
  ModelBuilder builder("mlp");
  TensorId x = builder.input("x", {minibatch, 3});
  x = builder.linear("fc1", x, 4);
  x = builder.relu("relu", x);
  builder.output(builder.linear("fc2", x, 2));
  return *builder.finish();
}

Model cnn_of_one(std::int64_t minibatch) {
  ModelBuilder builder("cnn");
  TensorId x = builder.input("x", {minibatch, 3, 4, 4});
  x = builder.convolution("conv", x, {.channels = 8, .kernel = 3, .stride = 1, .pad = 1});
  x = builder.max_pool("pool", x, 2, 2);
  x = builder.flatten("flatten", x);
  builder.output(builder.linear("fc", x, 10));
  return *builder.finish();
}

/// Models of one structure, each with weights of its own.
struct EqualMembers {
  EqualMembers(Model of, std::size_t count) : model(std::move(of)) {
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back({fmt::format("m{}", i), {"net", {}, 1}, i});
      weights.push_back(random_weights(model, i));
    }
  }

  [[nodiscard]] Result<LoadedModel> batch(const Plan& plan) const {
    const std::vector<const Model*> models(list.size(), &model);
    std::vector<const Weights*> values;
    for (const Weights& each : weights) values.push_back(&each);
    return batch_model(plan, models, values);
  }

  Model model;
  std::vector<Weights> weights;
  std::vector<Member> list;
};

/// "fc [2, 3] (Gemm): y [2, 4] <- x fc.weight fc.bias" for each op.
std::vector<std::string> op_lines(const Model& model) {
  std::vector<std::string> lines;
  for (const Op& op : model.ops) {
    std::vector<std::string> inputs;
    for (const TensorId id : op.inputs) inputs.push_back(model.tensor(id).name);
    const Tensor& y = model.tensor(op.outputs[0]);
    lines.push_back(fmt::format("{} ({}): {} {} <- {}", op.name, op_type(op.attributes), y.name, to_string(y.shape),
                                fmt::join(inputs, " ")));
  }
  return lines;
}

std::vector<std::string> tensor_names(const Model& model, const std::vector<TensorId>& tensors) {
  std::vector<std::string> result;
  for (const TensorId id : tensors) result.push_back(model.tensor(id).name);
  return result;
}

Group fused_pair(const std::string& name, std::vector<std::string> ops, Strategy strategy) {
  return {name, {0, 1}, std::move(ops), strategy, 0, {}, {}};
}

TEST(BatchModel, PutsMembersThatAreNotFusedSideBySide) {
  const EqualMembers members(mlp_of_two(1), 2);
  const LoadedModel batch = members.batch(uniform_plan(members.list, Strategy::kSerial, 1)).value();
  EXPECT_THAT(op_lines(batch.model), ElementsAre("m0/fc1 (Gemm): m0/fc1 [1, 4] <- x m0/fc1.weight m0/fc1.bias",
                                                 "m0/relu (Relu): m0/relu [1, 4] <- m0/fc1",
                                                 "m0/fc2 (Gemm): m0/fc2 [1, 2] <- m0/relu m0/fc2.weight m0/fc2.bias",
                                                 "m1/fc1 (Gemm): m1/fc1 [1, 4] <- x m1/fc1.weight m1/fc1.bias",
                                                 "m1/relu (Relu): m1/relu [1, 4] <- m1/fc1",
                                                 "m1/fc2 (Gemm): m1/fc2 [1, 2] <- m1/relu m1/fc2.weight m1/fc2.bias"));
  EXPECT_THAT(tensor_names(batch.model, batch.model.inputs), ElementsAre("x"));
  EXPECT_THAT(tensor_names(batch.model, batch.model.outputs), ElementsAre("m0/fc2", "m1/fc2"));
}

TEST(BatchModel, MultipliesASharedInputByTheWeightsOfAllAsOne) {
  const EqualMembers members(mlp_of_two(5), 2);
  const LoadedModel batch = members.batch(uniform_plan(members.list, Strategy::kStridedBatch, 1)).value();
  EXPECT_THAT(op_lines(batch.model),
              ElementsAre("0-1/fc1 (Gemm): 0-1/fc1:wide [5, 8] <- x 0-1/fc1.weight 0-1/fc1.bias",
                          "0-1/fc1:reshape (Reshape): 0-1/fc1:reshape [5, 2, 4] <- 0-1/fc1:wide",
                          "0-1/fc1:transpose (Transpose): 0-1/fc1:transpose [2, 5, 4] <- 0-1/fc1:reshape",
                          "0-1/relu (Relu): 0-1/relu [2, 5, 4] <- 0-1/fc1:transpose",
                          "0-1/fc2 (Gemm): 0-1/fc2 [2, 5, 2] <- 0-1/relu 0-1/fc2.weight 0-1/fc2.bias",
                          "0-1/fc2:reshape (Reshape): 0-1/fc2:reshape [10, 2] <- 0-1/fc2",
                          "m0/fc2:cut (Slice): m0/fc2 [5, 2] <- 0-1/fc2:reshape",
                          "m1/fc2:cut (Slice): m1/fc2 [5, 2] <- 0-1/fc2:reshape"));
  const auto& first = *members.weights[0].of(members.model.ops[0].inputs[1]);
  const auto& second = *members.weights[1].of(members.model.ops[0].inputs[1]);
  std::vector<float> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(*batch.weights.of(batch.model.ops[0].inputs[1]), both);
}

TEST(BatchModel, StacksInputsThatMembersHaveEach) {
  const EqualMembers members(mlp_of_two(1), 2);
  Plan plan = uniform_plan(members.list, Strategy::kStridedBatch, 1);
  plan.input.sharing = InputSharing::kSeparate;
  const LoadedModel batch = members.batch(plan).value();
  EXPECT_THAT(tensor_names(batch.model, batch.model.inputs), ElementsAre("m0/x", "m1/x"));
  const std::vector<std::string> ops = op_lines(batch.model);
  ASSERT_EQ(ops.size(), 8U);
  EXPECT_EQ(ops[0], "0-1/x:stack (Concat): 0-1/x:stack [2, 3] <- m0/x m1/x");
  EXPECT_EQ(ops[1], "0-1/x:stack:reshape (Reshape): 0-1/x:stack:reshape [2, 1, 3] <- 0-1/x:stack");
  EXPECT_EQ(ops[2], "0-1/fc1 (Gemm): 0-1/fc1 [2, 1, 4] <- 0-1/x:stack:reshape 0-1/fc1.weight 0-1/fc1.bias");
}

TEST(BatchModel, TurnsStackedChannelsIntoStackedModelsWithoutTakingThemApart) {
  const EqualMembers members(cnn_of_one(1), 2);
  Plan plan = uniform_plan(members.list, Strategy::kStridedBatch, 1);
  plan.groups = {fused_pair("convolutions", {"conv"}, Strategy::kDenseConvolution),
                 fused_pair("pools", {"pool"}, Strategy::kGroupedConvolution),
                 fused_pair("products", {}, Strategy::kStridedBatch)};
  const LoadedModel batch = members.batch(plan).value();
  EXPECT_THAT(op_lines(batch.model),
              ElementsAre("0-1/conv (Convolution): 0-1/conv [1, 16, 4, 4] <- x 0-1/conv.weight 0-1/conv.bias",
                          "0-1/pool (MaxPool): 0-1/pool [1, 16, 2, 2] <- 0-1/conv",
                          "0-1/pool:reshape (Reshape): 0-1/pool:reshape [1, 2, 8, 2, 2] <- 0-1/pool",
                          "0-1/pool:reshape#2 (Reshape): 0-1/pool:reshape#2 [2, 1, 8, 2, 2] <- "
                          "0-1/pool:reshape",
                          "0-1/flatten (Reshape): 0-1/flatten [2, 1, 32] <- 0-1/pool:reshape#2",
                          "0-1/fc (Gemm): 0-1/fc [2, 1, 10] <- 0-1/flatten 0-1/fc.weight 0-1/fc.bias",
                          "0-1/fc:reshape (Reshape): 0-1/fc:reshape [2, 10] <- 0-1/fc",
                          "m0/fc:cut (Slice): m0/fc [1, 10] <- 0-1/fc:reshape",
                          "m1/fc:cut (Slice): m1/fc [1, 10] <- 0-1/fc:reshape"));
}

TEST(BatchModel, HoldsWeightsOnceThatMembersShare) {
  EqualMembers members(mlp_of_two(1), 2);
  members.weights[1] = members.weights[0];
  const LoadedModel batch = members.batch(uniform_plan(members.list, Strategy::kConcurrent, 2)).value();
  EXPECT_EQ(parameter_count(batch.model), parameter_count(members.model));
}

TEST(BatchModel, NamesOpsThatCannotBeFused) {
  const EqualMembers members(cnn_of_one(2), 2);
  const auto batch = members.batch(uniform_plan(members.list, Strategy::kStridedBatch, 1));
  ASSERT_FALSE(batch);
  EXPECT_THAT(batch.error().message, HasSubstr("op conv (Convolution) cannot be fused by strided_batch"));
}

TEST(BatchModel, RefusesMembersThatTrain) {
  EqualMembers members(mlp_of_two(1), 2);
  members.model.tensors.push_back({"momentum", {4}, TensorRole::kState});
  for (Weights& weights : members.weights) weights.by_tensor.emplace_back();
  const auto batch = members.batch(uniform_plan(members.list, Strategy::kSerial, 1));
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message, "member m0 trains: only models for inference can be one model");
}

}  // namespace
}  // namespace cohort
