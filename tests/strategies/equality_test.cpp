// A member of a model batch computes what it would compute alone, whatever the strategy.

#include <gtest/gtest.h>

#include <cmath>

#include "executor/host/host_session.hpp"
#include "executor/reference/reference_kernels.hpp"
#include "tests/strategies/batch.hpp"
#ifdef COHORT_WITH_ONEDNN
#include "executor/onednn/onednn_kernels.hpp"
#endif

namespace cohort::testing {
namespace {

constexpr int kCores = 2;
/// float32 sums of some thousand products, in another order; relative to the largest value.
constexpr float kTolerance = 2e-4F;

std::unique_ptr<Backend> make_backend(const std::string& name) {
#ifdef COHORT_WITH_ONEDNN
  if (name == "onednn") return std::make_unique<HostBackend>(make_onednn_kernels(kCores), onednn_device_info());
#endif
  if (name == "reference")
    return std::make_unique<HostBackend>(make_reference_kernels(kCores), reference_device_info(kCores));
  return nullptr;
}

struct Network {
  const char* name;
  std::int64_t minibatch;
  std::map<std::string, std::string> arguments;
};

void expect_close(const std::vector<std::vector<float>>& actual, const std::vector<std::vector<float>>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size()) << "output " << i;
    float largest = 0;
    for (const float value : expected[i]) largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0) << "output " << i << " says nothing";
    for (std::size_t k = 0; k < actual[i].size(); ++k)
      ASSERT_NEAR(actual[i][k], expected[i][k], kTolerance * largest) << "output " << i << " element " << k;
  }
}

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
  expect_close(*together, outputs_alone(*alone, plan, batch));
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
    ::testing::Combine(::testing::Values("reference", "onednn"),
                       ::testing::Values("serial", "concurrent", "dense", "grouped", "strided", "mixed"),
                       ::testing::Values(Network{"lenet5", 1, {}}, Network{"lenet5", 4, {}},
                                         Network{"mlp", 3, {{"hidden", "40"}}},
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

TEST(MixedMembers, OfDifferentNetworksEqualTheirSerialRuns) {
  const Batch batch = mixed_members(2);
  for (const char* backend : {"reference", "onednn"}) {
    expect_members_as_alone(backend, plan_by_name("serial", batch), batch);
    Plan plan = plan_by_name("concurrent", batch);
    expect_members_as_alone(backend, plan, batch);
    // The two lenet5 fuse their first layer, the rest is concurrent.
    plan.groups.push_back({"lenets", {0, 3}, {"conv1"}, Strategy::kDenseConvolution, 0, {}, {}});
    plan.input.sharing = InputSharing::kShared;
    expect_members_as_alone(backend, plan, batch);
  }
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

TEST(LaunchModes, SingleLaunchesGiveTheSameAsGraphs) {
  const Batch batch = equal_members("lenet5", 2, {}, 3);
  Plan plan = plan_by_name("mixed", batch);
  plan.launch = LaunchMode::kSingle;
  expect_members_as_alone("onednn", plan, batch);
}

}  // namespace
}  // namespace cohort::testing
