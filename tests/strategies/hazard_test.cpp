// Plans shaped for a device with many streams, run on the fake device: every access to every buffer is
// ordered, and what is launched where is what the plan says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/recording/recording_backend.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/strategies/scheduled.hpp"

namespace cohort::testing {
namespace {

using ::testing::IsEmpty;

struct Setting {
  const char* strategy;
  int streams;
  LaunchMode launch;
  bool strides;
};

class StreamPlans : public ::testing::TestWithParam<Setting> {};

TEST_P(StreamPlans, OrderEveryAccessOnTheFakeDevice) {
  const Setting& setting = GetParam();
  for (const Batch& batch : {equal_members("lenet5", 2, {}, 6), equal_members("resnet18", 1, {}, 3)}) {
    Plan plan = plan_by_name(setting.strategy, batch);
    plan.streams = setting.streams;
    plan.launch = setting.launch;
    RecordingOptions options;
    options.accepts_strides = setting.strides;
    RecordingBackend device(options);
    auto run = BatchRun::open(device, plan, batch.models(), {});
    ASSERT_TRUE(run) << run.error().message;
    for (int i = 0; i < 3; ++i) {
      const auto stepped = (*run)->step();
      ASSERT_TRUE(stepped) << stepped.error().message;
    }
    EXPECT_THAT(device.recording()->violations(), IsEmpty());
    EXPECT_GE(device.recording()->tasks().size(), 3 * (*run)->program().steps.size());
  }
}

std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  return fmt::format("{}_{}_{}_{}", info.param.strategy, info.param.streams,
                     info.param.launch == LaunchMode::kGraph ? "graph" : "single",
                     info.param.strides ? "strided" : "dense");
}

INSTANTIATE_TEST_SUITE_P(Fake, StreamPlans,
                         ::testing::Values(Setting{"concurrent", 4, LaunchMode::kSingle, true},
                                           Setting{"concurrent", 4, LaunchMode::kGraph, true},
                                           Setting{"dense", 4, LaunchMode::kGraph, false},
                                           Setting{"grouped", 3, LaunchMode::kSingle, false},
                                           Setting{"strided", 4, LaunchMode::kGraph, true},
                                           Setting{"mixed", 4, LaunchMode::kSingle, false},
                                           Setting{"mixed", 2, LaunchMode::kGraph, true}),
                         setting_name);

TEST(OpStreams, OrderEveryAccessOfBranchesOnTheFakeDevice) {
  const std::map<std::string, std::string> small{{"channels", "2"}, {"nodes", "8"}};
  for (const Batch& batch : {equal_members("squeezenet1_1", 1, {}, 2), equal_members("randwire", 1, small, 1)}) {
    for (const LaunchMode launch : {LaunchMode::kSingle, LaunchMode::kGraph}) {
      Plan plan = crossing_plan(batch, 3);
      plan.launch = launch;
      RecordingBackend device(RecordingOptions{});
      auto run = BatchRun::open(device, plan, batch.models(), {});
      ASSERT_TRUE(run) << run.error().message;
      for (int i = 0; i < 2; ++i) ASSERT_TRUE((*run)->step());
      EXPECT_THAT(device.recording()->violations(), IsEmpty());
      const std::vector<Step>& steps = (*run)->program().steps;
      const auto crosses = [&](const Step& step) {
        return std::any_of(step.dependencies.begin(), step.dependencies.end(),
                           [&](StepId from) { return (*run)->program().step(from).stream != step.stream; });
      };
      EXPECT_GT(std::count_if(steps.begin(), steps.end(), crosses), 10);
    }
  }
}

TEST(Schedules, OrderEveryAccessOnTheFakeDevice) {
  const std::map<std::string, std::string> small{{"channels", "2"}, {"nodes", "10"}};
  for (const Batch& batch : {equal_members("squeezenet1_1", 1, {}, 2), equal_members("randwire", 1, small, 1)}) {
    for (const int streams : {2, 4}) {
      for (const Plan& plan : scheduled_plans(batch, streams)) {
        RecordingOptions options;
        options.cores = 2;
        RecordingBackend device(options);
        auto run = BatchRun::open(device, plan, batch.models(), {});
        ASSERT_TRUE(run) << run.error().message;
        for (int i = 0; i < 2; ++i) ASSERT_TRUE((*run)->step());
        EXPECT_THAT(device.recording()->violations(), IsEmpty());
      }
    }
  }
}

TEST(StreamPlanDependencies, AreAllMissedByTheFakeDevice) {
  const Batch batch = equal_members("lenet5", 1, {}, 4);
  Plan plan = plan_by_name("mixed", batch);
  plan.streams = 4;
  const RecordingOptions options;
  const auto program = lower(plan, batch.models().models, RecordingCatalog(options));
  ASSERT_TRUE(program) << program.error().message;
  int removed = 0;
  for (std::size_t i = 0; i < program->steps.size(); ++i) {
    for (std::size_t d = 0; d < program->steps[i].dependencies.size(); ++d) {
      Program broken = *program;
      broken.steps[i].dependencies.erase(broken.steps[i].dependencies.begin() + static_cast<std::ptrdiff_t>(d));
      RecordingBackend device(options);
      auto runner = Runner::create(device, broken, batch.models().weights);
      ASSERT_TRUE(runner) << runner.error().message;
      ASSERT_TRUE((*runner)->step(0));
      EXPECT_FALSE(device.recording()->violations().empty()) << program->steps[i].task << ", dependency " << d;
      ++removed;
    }
  }
  EXPECT_GT(removed, 4);
}

}  // namespace
}  // namespace cohort::testing
