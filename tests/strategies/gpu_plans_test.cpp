// What the planner proposes for a GPU, run on the fake device: every access to every buffer is ordered.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "executor/recording/recording_backend.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/predict/program_gpu.hpp"
#include "tests/simulator/fake_profile.hpp"
#include "tests/strategies/batch.hpp"

namespace cohort::testing {
namespace {

using ::testing::IsEmpty;

TEST(GpuPlans, OrderEveryAccessOnTheFakeDevice) {
  const Batch batch = equal_members("lenet5", 1, {}, 6);
  const auto models = batch.models();
  const auto times = [](const FakeCall& call) -> std::optional<std::int64_t> { return 8'000 * call.width; };
  const CostTable costs(fake_records(*models.models.front(), 1, times));
  const RecordedCatalog catalog(costs, 1);
  GpuDemands gpu(*published_gpu_profile("NVIDIA H200"));
  Plan base = plan_by_name("concurrent", batch);
  PlanningCase planning_case{&base, models.models, &costs, {}, &catalog, &gpu};
  const auto planned = plan_model_batch(planning_case, {.least_simulated = 1000, .most_simulated = 1000});
  ASSERT_TRUE(planned) << planned.error().message;
  std::set<std::pair<int, LaunchMode>> seen;
  for (const PlanCandidate& candidate : planned->ranked) {
    Plan plan = candidate.plan;
    plan.resolved.reset();  // the fake device has other algorithms
    plan.baselines.clear();
    if (!seen.insert({plan.streams, plan.launch}).second) continue;
    RecordingBackend device;
    auto run = BatchRun::open(device, plan, models, {});
    ASSERT_TRUE(run) << candidate.name << ": " << run.error().message;
    for (int i = 0; i < 3; ++i) {
      const auto stepped = (*run)->step();
      ASSERT_TRUE(stepped) << candidate.name << ": " << stepped.error().message;
    }
    EXPECT_THAT(device.recording()->violations(), IsEmpty()) << candidate.name;
    std::set<StreamId> used;
    for (const RecordedCommand& command : device.recording()->commands()) {
      if (command.kind == RecordedCommand::Kind::kLaunch) used.insert(command.stream);
    }
    EXPECT_EQ(used.size(), static_cast<std::size_t>(plan.streams)) << candidate.name;
  }
  const std::set<std::pair<int, LaunchMode>> expected = {
      {1, LaunchMode::kSingle}, {2, LaunchMode::kSingle}, {4, LaunchMode::kSingle}, {6, LaunchMode::kSingle},
      {1, LaunchMode::kGraph},  {2, LaunchMode::kGraph},  {4, LaunchMode::kGraph},  {6, LaunchMode::kGraph}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace cohort::testing
