// The model batch as one model computes what its members compute alone, whatever the plan fuses; as ONNX, too.

#include "simulator/plan/batch_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "models/builder.hpp"
#include "models/compute/evaluate.hpp"
#include "models/onnx/onnx_file.hpp"
#include "simulator/plan/fuse_all.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using Values = std::vector<std::vector<float>>;

/// Whole numbers by their bits, small enough for indices.
std::vector<float> random_values(const Tensor& tensor, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
  for (float& value : values) value = tensor.element == ElementType::kFloat32 ? random.uniform(-1, 1) : 0;
  return values;
}

constexpr float kTolerance = 1e-5F;  // sums in another order

void expect_members_as_alone(const Plan& plan, const Batch& batch) {
  SCOPED_TRACE(write_plan(plan));
  const auto merged = batch_model(plan, batch.models().models, batch.models().weights);
  ASSERT_TRUE(merged) << merged.error().message;
  const bool shared = plan.input.sharing == InputSharing::kShared;
  Values inputs, expected;
  std::map<std::pair<std::size_t, Shape>, Values::value_type> first;
  for (std::size_t m = 0; m < batch.loaded.size(); ++m) {
    const Model& model = batch.loaded[m]->model;
    Values own;
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      const Tensor& input = model.tensor(model.inputs[i]);
      auto values = random_values(input, 100 * m + i);
      const auto [known, is_new] = first.try_emplace({i, input.shape}, values);
      if (shared && !is_new) values = known->second;
      if (!shared || is_new) inputs.push_back(values);
      own.push_back(std::move(values));
    }
    const auto outputs = reference::evaluate(*batch.loaded[m], own);
    ASSERT_TRUE(outputs) << outputs.error().message;
    expected.insert(expected.end(), outputs->begin(), outputs->end());
  }
  const auto together = reference::evaluate(*merged, inputs);
  ASSERT_TRUE(together) << together.error().message;
  expect_close(*together, expected, kTolerance);

  const auto bytes = onnx::serialize_model(simplify(*merged));
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto read = onnx::parse_model(*bytes, {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->model.inputs.size(), merged->model.inputs.size());
  for (std::size_t i = 0; i < read->model.outputs.size(); ++i) {
    EXPECT_EQ(read->model.tensor(read->model.outputs[i]).name, merged->model.tensor(merged->model.outputs[i]).name);
  }
  const auto again = reference::evaluate(*read, inputs);
  ASSERT_TRUE(again) << again.error().message;
  expect_close(*again, expected, kTolerance);
}

struct Network {
  const char* name;
  std::int64_t minibatch;
  std::map<std::string, std::string> arguments;
};
using Parameters = std::tuple<const char*, Network>;

std::string case_name(const ::testing::TestParamInfo<Parameters>& info) {
  const auto& [strategy, network] = info.param;
  return fmt::format("{}_{}_{}", strategy, network.name, network.minibatch);
}

class BatchModels : public ::testing::TestWithParam<Parameters> {};
class FusedBatchModels : public ::testing::TestWithParam<Network> {};

TEST_P(BatchModels, ComputeWhatTheirMembersComputeAlone) {
  const auto& [strategy, network] = GetParam();
  const Batch batch = equal_members(network.name, network.minibatch, network.arguments, 3);
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    Plan plan = plan_by_name(strategy, batch);
    plan.input.sharing = sharing;
    const bool dense = plan.groups.size() > 1 && plan.groups[1].strategy == Strategy::kDenseConvolution;
    if (dense && sharing == InputSharing::kSeparate) continue;  // needs one input for all
    expect_members_as_alone(plan, batch);
  }
}

TEST_P(FusedBatchModels, ComputeWhatTheirMembersComputeAlone) {
  const Batch batch = equal_members(GetParam().name, GetParam().minibatch, GetParam().arguments, 3);
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    Plan plan = uniform_plan(batch.members, Strategy::kSerial, 1);
    plan.input.sharing = sharing;
    plan = fuse_all(std::move(plan), batch.models().models);
    EXPECT_GT(plan.groups.size(), 1U) << "nothing is fused";
    expect_members_as_alone(plan, batch);
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfBuiltInNetworks, BatchModels,
    ::testing::Combine(
        ::testing::Values("serial", "concurrent", "dense", "grouped", "strided", "grouped_gemm", "mixed"),
        ::testing::Values(Network{"lenet5", 1, {}}, Network{"lenet5", 3, {}}, Network{"mlp", 1, {{"hidden", "40"}}},
                          Network{"mlp", 3, {{"hidden", "40"}}}, Network{"smallcnn", 1, {{"width", "4"}}},
                          Network{"lstm", 2, {{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}}},
                          Network{"gru", 1, {{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}}})),
    case_name);

INSTANTIATE_TEST_SUITE_P(OfBuiltInNetworks, FusedBatchModels,
                         ::testing::Values(Network{"lenet5", 1, {}}, Network{"lenet5", 3, {}}, Network{"mlp", 1, {}},
                                           Network{"mlp", 3, {}}, Network{"smallcnn", 2, {{"width", "4"}}},
                                           Network{"encoder", 1, {}}),
                         [](const auto& given) {
                           return fmt::format("{}_{}", given.param.name, given.param.minibatch);
                         });

/// Three members of a model made here.
Batch members_of(const Model& model) {
  Batch batch;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    batch.loaded.push_back(std::make_unique<LoadedModel>(LoadedModel{model, random_weights(model, seed)}));
    batch.members.push_back({fmt::format("m{}", seed), {"made-here", {}, 1}, seed});
  }
  return batch;
}

void expect_fused_members_as_alone(const Model& model) {
  const Batch batch = members_of(model);
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    Plan plan = uniform_plan(batch.members, Strategy::kSerial, 1);
    plan.input.sharing = sharing;
    expect_members_as_alone(fuse_all(std::move(plan), batch.models().models), batch);
  }
}

const Window kThree{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};

TEST(FusedBatchModel, TakesKernelsAndBiasesThatAreComputed) {
  ModelBuilder builder("net");
  const TensorId x = builder.input("x", {2, 3, 6, 6});
  const TensorId kernels = builder.relu("kernels", builder.input("k", {4, 3, 3, 3}));
  builder.output(builder.add("conv", Convolution{kThree}, {x, kernels, builder.input("b", {4})}));
  expect_fused_members_as_alone(*builder.finish());
}

TEST(FusedBatchModel, LeavesNormalisationsByComputedParametersToEachMember) {
  ModelBuilder builder("net");
  const TensorId x = builder.convolution("conv", builder.input("x", {2, 3, 6, 6}), {.channels = 4, .kernel = 3});
  const TensorId scale = builder.relu("scale", builder.input("s", {4}));
  const TensorId one = builder.weight("variance", {4});
  builder.output(builder.add("norm", BatchNormalization{}, {x, scale, one, one, scale}));
  expect_fused_members_as_alone(*builder.finish());
}

TEST(FusedBatchModel, CutsWeightsThatAreReadInParts) {
  ModelBuilder builder("net");
  const TensorId whole = builder.weight("whole", {2, 5});
  const TensorId first = builder.add("first", TensorSlice{{0, 0}, {1, 1}, {1, 5}}, {whole});
  const TensorId last = builder.add("last", TensorSlice{{1, 0}, {1, 1}, {1, 5}}, {whole});
  const TensorId sum = builder.add("sum", Binary{}, {builder.input("x", {3, 5}), first});
  builder.output(builder.add("product", Binary{BinaryKind::kMul}, {sum, last}));
  expect_fused_members_as_alone(*builder.finish());
}

TEST(MixedBatchModel, ComputesWhatItsMembersComputeAlone) {
  const Batch batch = mixed_members(2);
  for (const char* strategy : {"serial", "grouped_gemm", "concurrent"}) {
    Plan plan = plan_by_name(strategy, batch);
    plan.input.sharing = InputSharing::kShared;
    expect_members_as_alone(plan, batch);
  }
}

}  // namespace
}  // namespace cohort::testing
