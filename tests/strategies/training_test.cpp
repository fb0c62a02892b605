// A member that trains in a model batch gets the weights that it gets alone, whatever the strategy.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "executor/recording/fake_gpu.hpp"
#include "executor/recording/recording_backend.hpp"
#include "executor/runner.hpp"
#include "tests/strategies/backends.hpp"
#include "tests/strategies/trainees.hpp"

namespace cohort::testing {
namespace {

/// Own CUDA kernels are run by a GPU in host memory.
std::unique_ptr<Backend> backend_named(const std::string& name) {
  return name == "cuda" ? std::make_unique<FakeGpuBackend>() : make_backend(name);
}

struct Case {
  const char* backend;
  const char* strategy;
  const char* network;
  const char* optimizer;
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}_{}_{}", info.param.backend, info.param.strategy, info.param.network, info.param.optimizer);
}

class Training : public ::testing::TestWithParam<Case> {};

TEST_P(Training, InAModelBatchGivesEachMemberTheWeightsItGetsAlone) {
  const auto backend = backend_named(GetParam().backend);
  if (!backend) GTEST_SKIP() << "this build has no " << GetParam().backend;
  const Trainees all = trainees(GetParam().network, 4, GetParam().optimizer, 3);
  const States alone = train_alone(all);
  ASSERT_FALSE(alone.empty());
  EXPECT_NE(alone[0], std::vector<float>(alone[0].size(), 0));
  expect_same_states(train(*backend, plan_for(GetParam().strategy, all), all), alone);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* const backend : {"reference", "onednn", "cuda"}) {
    for (const char* const strategy : {"serial", "concurrent", "strided", "grouped", "dense", "mixed"}) {
      for (const char* const network : {"mlp", "small_lenet", "normalized", "lstm"})
        all.push_back({backend, strategy, network, "momentum"});
      for (const char* const optimizer : {"adam", "adamw", "nesterov"})
        all.push_back({backend, strategy, "small_lenet", optimizer});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Members, Training, ::testing::ValuesIn(cases()), case_name);

class DivergingMembers : public ::testing::TestWithParam<const char*> {};

TEST_P(DivergingMembers, LeaveTheOthersAlone) {
  const Trainees all = trainees("small_lenet", 4, "momentum", 3);
  const auto settings = [](std::uint32_t member) {
    std::vector<float> values = settings_of(member);
    if (member == 1) values[static_cast<std::size_t>(Setting::kLearningRate)] = std::numeric_limits<float>::quiet_NaN();
    return values;
  };
  const auto backend = make_backend("reference");
  const States states = train(*backend, plan_for(GetParam(), all), all, {0, settings});
  const States alone = train_alone(all);
  ASSERT_EQ(states.size(), 3U);
  EXPECT_TRUE(std::any_of(states[1].begin(), states[1].end(), [](float value) { return std::isnan(value); }));
  expect_same_states({states[0], states[2]}, {alone[0], alone[2]});
}

INSTANTIATE_TEST_SUITE_P(Members, DivergingMembers, ::testing::Values("serial", "concurrent", "strided", "mixed"),
                         [](const auto& each) { return std::string(each.param); });

TEST(TrainingPlans, OrderEveryAccessOnTheFakeDevice) {
  for (const char* const network : {"lenet5", "normalized", "lstm"}) {
    const Trainees all = trainees(network, 2, "momentum", 4);
    for (const char* const strategy : {"serial", "concurrent", "strided", "grouped", "dense", "mixed", "branches"}) {
      for (const LaunchMode launch : {LaunchMode::kSingle, LaunchMode::kGraph}) {
        Plan plan = plan_for(strategy, all);
        plan.launch = launch;
        plan.streams = plan.streams > 1 ? 3 : 1;
        RecordingBackend device;
        const States states = train(device, plan, all);
        EXPECT_FALSE(states.empty());
        EXPECT_THAT(device.recording()->violations(), ::testing::IsEmpty()) << network << " " << strategy;
      }
    }
  }
}

TEST(TrainingPlans, AreInFloat32OrTf32) {
  const Trainees all = trainees("mlp", 2, "sgd", 2);
  FakeGpuBackend device;
  Plan plan = plan_for("serial", all);
  plan.precision = Precision::kTf32;
  expect_same_states(train(device, plan, all), train_alone(all));
  plan.precision = Precision::kBfloat16;
  const auto program = lower(plan, all.models(), device.catalog());
  ASSERT_FALSE(program.has_value());
  EXPECT_THAT(program.error().message, ::testing::HasSubstr("in float32 or tf32, not in bfloat16"));
}

/// Steps as a graph and one by one, from one launch thread and from two: the fake GPU sees every access in order.
TEST(TrainingPlans, KeepTheOrderOfTheFakeGpu) {
  const Trainees all = trainees("small_lenet", 4, "momentum", 3);
  const States alone = train_alone(all);
  for (const char* const strategy : {"concurrent", "strided", "grouped", "dense", "mixed"}) {
    for (const LaunchMode launch : {LaunchMode::kSingle, LaunchMode::kGraph}) {
      for (const int launch_threads : {1, 2}) {
        Plan plan = plan_for(strategy, all);
        plan.launch = launch;
        if (launch_threads > plan.streams || (launch_threads > 1 && launch == LaunchMode::kGraph)) continue;
        plan.launch_threads = launch_threads;
        FakeGpuBackend device;
        expect_same_states(train(device, plan, all), alone);
        EXPECT_THAT(device.gpu().violations(), ::testing::IsEmpty()) << strategy;
        EXPECT_EQ(device.gpu().resources(), 0U);
      }
    }
  }
}

/// Members that leave a model batch take their states along, to the bit.
TEST(TrainingPlans, ReadAndWriteStatesOnTheFakeGpu) {
  const Trainees all = trainees("mlp", 4, "adam", 2);
  FakeGpuBackend device;
  const auto program = lower(plan_for("strided", all), all.models(), device.catalog());
  ASSERT_TRUE(program) << program.error().message;
  const std::vector<const Weights*> weights{&all.steps[0].loaded.weights, &all.steps[1].loaded.weights};
  const auto runner = Runner::create(device, *program, weights);
  ASSERT_TRUE(runner) << runner.error().message;
  Session& session = (*runner)->session();
  ASSERT_EQ(program->states.size(), 2U);
  const auto second = session.read_state(1);
  ASSERT_TRUE(second.has_value());
  std::vector<float> values(second->size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  ASSERT_TRUE(session.write_state(0, values).has_value());
  EXPECT_EQ(session.read_state(0).value(), values);
  EXPECT_EQ(session.read_state(1).value(), *second) << "the other member's is where it was";
  EXPECT_FALSE(session.write_state(0, std::span(values).first(3)).has_value());
}

TEST(TrainingPlans, CountTheirMembersStates) {
  const Trainees all = trainees("mlp", 2, "adam", 3);
  RecordingBackend device;
  const auto program = lower(plan_for("strided", all), all.models(), device.catalog());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->memory.optimizer, Bytes{2 * program->memory.parameters.value});
  EXPECT_EQ(program->memory.gradients, program->memory.parameters);
}

}  // namespace
}  // namespace cohort::testing
