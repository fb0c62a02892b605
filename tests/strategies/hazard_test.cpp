// Plans shaped for a device with many streams, run on the fake device: every access to every buffer is
// ordered, and what is launched where is what the plan says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/recording/recording_backend.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/strategies/scheduled.hpp"

namespace cohort::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Every op in one way that has scratch memory, or in one that has none.
RecordingOptions recording_options(bool workspace) {
  RecordingOptions options;
  options.alternatives = {workspace ? Alternative{"with_workspace", 1, Bytes{1 << 16}, {}}
                                    : Alternative{"implicit", 1, {}, {}}};
  return options;
}

struct Setting {
  const char* strategy;
  int streams;
  LaunchMode launch;
  bool strides;
  bool workspace;
};
void PrintTo(const Setting& it, std::ostream* out) { *out << it.strategy; }

class StreamPlans : public ::testing::TestWithParam<Setting> {};

TEST_P(StreamPlans, OrderEveryAccessOnTheFakeDevice) {
  const Setting& setting = GetParam();
  for (const Batch& batch : {equal_members("lenet5", 2, {}, 6), equal_members("resnet18", 1, {}, 3)}) {
    Plan plan = plan_by_name(setting.strategy, batch);
    plan.streams = setting.streams;
    plan.launch = setting.launch;
    RecordingOptions options = recording_options(setting.workspace);
    options.accepts_strides = setting.strides;
    RecordingBackend device(options);
    auto run = BatchRun::open(device, plan, batch.models(), {});
    ASSERT_TRUE(run) << run.error().message;
    for (int i = 0; i < 3; ++i) {
      const auto stepped = (*run)->step();
      ASSERT_TRUE(stepped) << stepped.error().message;
    }
    EXPECT_THAT(device.recording()->violations(), IsEmpty());
    EXPECT_EQ((*run)->program().memory.workspace > Bytes{}, setting.workspace);
    EXPECT_GE(device.recording()->tasks().size(), 3 * (*run)->program().steps.size());
  }
}

std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  return fmt::format("{}_{}_{}_{}{}", info.param.strategy, info.param.streams,
                     info.param.launch == LaunchMode::kGraph ? "graph" : "single",
                     info.param.strides ? "strided" : "dense", info.param.workspace ? "_workspace" : "");
}

INSTANTIATE_TEST_SUITE_P(Fake, StreamPlans,
                         ::testing::Values(Setting{"concurrent", 4, LaunchMode::kSingle, true, false},
                                           Setting{"concurrent", 4, LaunchMode::kSingle, true, true},
                                           Setting{"concurrent", 4, LaunchMode::kGraph, true, true},
                                           Setting{"dense", 4, LaunchMode::kGraph, false, false},
                                           Setting{"dense", 4, LaunchMode::kGraph, false, true},
                                           Setting{"grouped", 3, LaunchMode::kSingle, false, true},
                                           Setting{"strided", 4, LaunchMode::kGraph, true, true},
                                           Setting{"mixed", 4, LaunchMode::kSingle, false, false},
                                           Setting{"mixed", 4, LaunchMode::kSingle, false, true},
                                           Setting{"mixed", 2, LaunchMode::kGraph, true, true}),
                         setting_name);

TEST(OpStreams, OrderEveryAccessOfBranchesOnTheFakeDevice) {
  const std::map<std::string, std::string> small{{"channels", "2"}, {"nodes", "8"}};
  for (const Batch& batch : {equal_members("squeezenet1_1", 1, {}, 2), equal_members("randwire", 1, small, 1)}) {
    for (const LaunchMode launch : {LaunchMode::kSingle, LaunchMode::kGraph}) {
      Plan plan = crossing_plan(batch, 3);
      plan.launch = launch;
      RecordingBackend device(recording_options(launch == LaunchMode::kGraph));
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
      std::vector<Plan> plans = scheduled_plans(batch, streams);
      if (batch.members.size() > 1) {
        for (Plan& plan : fused_scheduled_plans(batch, streams)) plans.push_back(std::move(plan));
      }
      for (const Plan& plan : plans) {
        RecordingOptions options = recording_options(streams == 4);
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

/// Of each step those that are done before it begins: what it depends on, and what stands before it on its stream.
std::vector<std::vector<bool>> steps_before(const Program& program) {
  const std::size_t count = program.steps.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  std::map<StreamId, std::size_t> last;
  for (std::size_t i = 0; i < count; ++i) {
    const auto add = [&](std::size_t other) {
      before[i][other] = true;
      for (std::size_t k = 0; k < count; ++k) before[i][k] = before[i][k] || before[other][k];
    };
    for (const StepId dependency : program.steps[i].dependencies) add(to_index(dependency));
    if (const auto previous = last.find(program.steps[i].stream); previous != last.end()) add(previous->second);
    last[program.steps[i].stream] = i;
  }
  return before;
}

TEST(SharedWorkspaces, OfStepsThatNothingOrdersAreAllSeenByTheFakeDevice) {
  const Batch batch = equal_members("lenet5", 1, {}, 4);
  Plan plan = plan_by_name("concurrent", batch);
  plan.streams = 4;
  const RecordingOptions options = recording_options(true);
  const auto program = lower(plan, batch.models().models, RecordingCatalog(options));
  ASSERT_TRUE(program) << program.error().message;
  const auto before = steps_before(*program);
  int shared = 0;
  for (std::size_t i = 0; i < program->steps.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (before[i][k] || !program->steps[i].workspace || !program->steps[k].workspace) continue;
      Program broken = *program;
      broken.steps[i].workspace = broken.steps[k].workspace;
      RecordingBackend device(options);
      const auto runner = Runner::create(device, broken, batch.models().weights);
      ASSERT_TRUE(runner) << runner.error().message;
      EXPECT_THAT(device.recording()->violations(), Contains(HasSubstr(":workspace")))
          << program->steps[i].task << " with the workspace of " << program->steps[k].task;
      ++shared;
      break;  // one of those beside it is enough
    }
  }
  EXPECT_GT(shared, 12);
}

}  // namespace
}  // namespace cohort::testing
