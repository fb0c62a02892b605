// A member of a model batch computes what it would compute alone, whatever the strategy.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/plan/lower.hpp"
#include "tests/strategies/backends.hpp"
#include "tests/strategies/scheduled.hpp"

namespace cohort::testing {
namespace {

/// float32 sums of some thousand products, in another order; relative to the largest value.
constexpr float kTolerance = 2e-4F;

struct Network {
  const char* name;
  std::int64_t minibatch;
  std::map<std::string, std::string> arguments;
};

/// Large networks are too slow for plain loops; they are held against the same device.
void expect_members_as_alone(const std::string& backend_name, const Plan& plan, const Batch& batch,
                             const std::string& alone_name = "reference") {
  const auto backend = make_backend(backend_name);
  if (!backend) GTEST_SKIP() << "this build has no " << backend_name;
  const auto alone = make_backend(alone_name);
  auto run = BatchRun::open(*backend, plan, batch.models(), {});
  ASSERT_TRUE(run) << run.error().message;
  const auto together = outputs_of(**run);
  ASSERT_TRUE(together) << together.error().message;
  expect_close(*together, outputs_alone(*alone, plan, batch), kTolerance);
  const auto again = outputs_of(**run);  // nothing of the first step may be left over
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *together);
}

using Parameters = std::tuple<const char*, const char*, Network>;
std::string case_name(const ::testing::TestParamInfo<Parameters>& info) {
  const auto& [backend, strategy, network] = info.param;
  return fmt::format("{}_{}_{}_{}", backend, strategy, network.name, network.minibatch);
}

class Strategies : public ::testing::TestWithParam<Parameters> {};

TEST_P(Strategies, EqualTheSerialRunOfEachMember) {
  const auto& [backend, strategy, network] = GetParam();
  const Batch batch = equal_members(network.name, network.minibatch, network.arguments, 3);
  for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
    Plan plan = plan_by_name(strategy, batch);
    plan.input.sharing = sharing;
    const bool dense = plan.groups.size() > 1 && plan.groups[1].strategy == Strategy::kDenseConvolution;
    if (dense && sharing == InputSharing::kSeparate) continue;  // needs one input for all
    expect_members_as_alone(backend, plan, batch);
  }
}

INSTANTIATE_TEST_SUITE_P(
    OnSmallNetworks, Strategies,
    ::testing::Combine(
        ::testing::Values("reference", "onednn"),
        ::testing::Values("serial", "concurrent", "dense", "grouped", "strided", "grouped_gemm", "mixed"),
        ::testing::Values(Network{"lenet5", 1, {}}, Network{"lenet5", 4, {}}, Network{"mlp", 3, {{"hidden", "40"}}},
                          Network{"lstm", 2, {{"steps", "5"}, {"inputs", "12"}, {"hidden", "20"}}})),
    case_name);

class ImageStrategies : public ::testing::TestWithParam<Parameters> {};

TEST_P(ImageStrategies, EqualTheSerialRunOfEachMember) {
  const auto& [backend, strategy, network] = GetParam();
  const Batch batch = equal_members(network.name, network.minibatch, network.arguments, 3);
  expect_members_as_alone(backend, plan_by_name(strategy, batch), batch, backend);
}

INSTANTIATE_TEST_SUITE_P(OnImageNetworks, ImageStrategies,
                         ::testing::Combine(::testing::Values("onednn"),
                                            ::testing::Values("concurrent", "dense", "grouped", "mixed"),
                                            ::testing::Values(Network{"smallcnn", 2, {}}, Network{"resnet18", 1, {}})),
                         case_name);

Batch sized(const std::string& network, const std::vector<std::map<std::string, std::string>>& arguments) {
  Batch batch;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Batch one = equal_members(network, static_cast<std::int64_t>(i) + 1, arguments[i], 1);
    one.members[0].name = fmt::format("{}-{}", network, i);
    batch.members.push_back(std::move(one.members[0]));
    batch.loaded.push_back(std::move(one.loaded[0]));
  }
  return batch;
}

TEST(GroupedGemm, OfMembersOfEverySizeEqualsTheirSerialRuns) {
  const std::vector<Batch> batches = [] {
    std::vector<Batch> all;
    all.push_back(sized("mlp", {{{"hidden", "8"}}, {{"hidden", "40"}, {"layers", "3"}}, {{"hidden", "17"}}}));
    all.push_back(sized("lstm", {{{"steps", "3"}, {"inputs", "6"}, {"hidden", "20"}},
                                 {{"steps", "5"}, {"inputs", "12"}, {"hidden", "7"}}}));
    all.push_back(sized("lenet5", {{}, {}, {}}));  // minibatches differ
    return all;
  }();
  for (const char* backend : {"reference", "onednn"}) {
    for (const Batch& batch : batches) {
      for (const InputSharing sharing : {InputSharing::kShared, InputSharing::kSeparate}) {
        Plan plan = plan_by_name("grouped_gemm", batch);
        plan.input.sharing = sharing;
        expect_members_as_alone(backend, plan, batch);
      }
    }
  }
}

TEST(GroupedGemm, RefusesConvolutionsByName) {
  const Batch batch = equal_members("lenet5", 1, {}, 2);
  const auto backend = make_backend("reference");
  const auto run = BatchRun::open(*backend, uniform_plan(batch.members, Strategy::kGroupedGemm, 1), batch.models(), {});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("op conv1 (Convolution) cannot be fused by grouped_gemm"), std::string::npos)
      << run.error().message;
}

TEST(MixedMembers, OfDifferentNetworksEqualTheirSerialRuns) {
  const Batch batch = mixed_members(2);
  for (const char* backend : {"reference", "onednn"}) {
    expect_members_as_alone(backend, plan_by_name("serial", batch), batch);
    expect_members_as_alone(backend, plan_by_name("grouped_gemm", batch), batch);
    Plan plan = plan_by_name("concurrent", batch);
    expect_members_as_alone(backend, plan, batch);
    // The two lenet5 fuse their first layer, the rest is concurrent.
    plan.groups.push_back({"lenets", {0, 3}, {"conv1"}, Strategy::kDenseConvolution, 0, {}, {}});
    plan.input.sharing = InputSharing::kShared;
    expect_members_as_alone(backend, plan, batch);
  }
}

TEST(OpStreams, BranchesOnStreamsOfTheirOwnEqualTheSerialRun) {
  for (const char* backend : {"reference", "onednn"}) {
    const Batch lenets = equal_members("lenet5", 2, {}, 2);
    Plan plan = crossing_plan(lenets, 2);
    expect_members_as_alone(backend, plan, lenets);
    plan.launch = LaunchMode::kSingle;
    expect_members_as_alone(backend, plan, lenets);
    const Batch wired = equal_members("randwire", 1, {{"channels", "2"}, {"nodes", "6"}}, 1);
    expect_members_as_alone(backend, crossing_plan(wired, 2), wired, backend);
  }
}

TEST(Schedules, OfBranchesEqualTheSerialRunOfEachMember) {
  const Batch wired = equal_members("randwire", 1, {{"channels", "2"}, {"nodes", "6"}}, 1);
  const std::vector<Plan> plans = scheduled_plans(wired, 2);
  for (std::size_t i = 0; i < plans.size(); ++i)
    expect_members_as_alone(i % 2 == 0 ? "onednn" : "reference", plans[i], wired, i % 2 == 0 ? "onednn" : "reference");
}

TEST(Schedules, OfBranchesOfFusedOpsEqualTheSerialRunOfEachMember) {
  const Batch wired = equal_members("randwire", 1, {{"channels", "2"}, {"nodes", "6"}}, 2);
  const std::vector<Plan> plans = fused_scheduled_plans(wired, 2);
  for (std::size_t i = 0; i < plans.size(); ++i)
    expect_members_as_alone(i % 2 == 0 ? "onednn" : "reference", plans[i], wired, i % 2 == 0 ? "onednn" : "reference");
}

TEST(Layouts, NchwGivesTheSameAsNhwc) {
  const Batch batch = equal_members("lenet5", 2, {}, 3);
  for (const char* backend : {"reference", "onednn"}) {
    for (const char* strategy : {"serial", "mixed", "grouped"}) {
      Plan plan = plan_by_name(strategy, batch);
      plan.layout = Layout::kNchw;
      expect_members_as_alone(backend, plan, batch);
    }
  }
}

/// No step but the model's ops, each reading images as the ops before it wrote them: no reorder in between.
TEST(Layouts, OfImagesStayFromOpToOp) {
  const auto backend = make_backend("onednn");
  if (!backend) GTEST_SKIP() << "this build has no onednn";
  for (const char* network : {"lenet5", "alexnet5", "smallcnn", "squeezenet1_1", "resnet18"}) {
    const Batch batch = equal_members(network, 1, {}, 1);
    const Plan plan = uniform_plan(batch.members, Strategy::kSerial, 1);
    const MemberModels members = batch.models();
    const auto program = lower(plan, members.models, backend->catalog());
    ASSERT_TRUE(program) << program.error().message;
    std::vector<std::string> steps;
    std::map<std::size_t, Shape> strides_in;  // what was written last, by buffer
    std::size_t handed_on = 0;
    for (const Step& step : program->steps) {
      steps.push_back(step.op);
      for (const Operand& operand : step.call.inputs) {
        const auto* const view = std::get_if<View>(&operand);
        if (view == nullptr || view->shape.size() != 4 || strides_in.count(to_index(view->buffer)) == 0) continue;
        for (std::size_t axis = 0; axis < 4; ++axis) {
          if (view->shape[axis] == 1) continue;  // its stride says nothing
          EXPECT_EQ(strides_in[to_index(view->buffer)][axis], view->strides[axis]) << network << " " << step.op;
        }
        ++handed_on;
      }
      for (const View& view : step.call.outputs) strides_in[to_index(view.buffer)] = view.strides;
    }
    std::vector<std::string> ops;
    for (const Op& op : members.models[0]->ops) ops.push_back(op.name);
    for (const std::string& step : steps)
      EXPECT_EQ(std::count(ops.begin(), ops.end(), step), 1) << network << " has no op " << step;
    EXPECT_GE(handed_on, 3U) << network;
  }
}

TEST(Precisions, OtherThanFloat32AreRefusedByTheCpu) {
  const Batch batch = equal_members("mlp", 1, {{"hidden", "8"}}, 2);
  for (const char* name : {"reference", "onednn"}) {
    const auto backend = make_backend(name);
    if (!backend) continue;
    for (const Precision precision : {Precision::kTf32, Precision::kBfloat16, Precision::kFloat16}) {
      Plan plan = plan_by_name("strided", batch);
      plan.precision = precision;
      const auto run = BatchRun::open(*backend, plan, batch.models(), {});
      ASSERT_FALSE(run) << name;
      EXPECT_EQ(run.error().message, fmt::format("precision: {} is not there on this device, which computes in float32",
                                                 to_string(precision)));
    }
  }
}

TEST(LaunchModes, SingleLaunchesGiveTheSameAsGraphs) {
  const Batch batch = equal_members("lenet5", 2, {}, 3);
  Plan plan = plan_by_name("mixed", batch);
  plan.launch = LaunchMode::kSingle;
  expect_members_as_alone("onednn", plan, batch);
}

}  // namespace
}  // namespace cohort::testing
