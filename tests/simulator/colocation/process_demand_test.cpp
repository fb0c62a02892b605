#include "simulator/colocation/process_demand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cohort {
namespace {

using namespace literals;

/// A process whose host needs 5 ms a step, whose GPU 0.6 ms and 0.4 ms a sample on all 7 GPCs, and which idles between
/// steps for as long as the model has it.
StepTimes made_up(const std::vector<double>& shares) {
  StepTimes times;
  times.unit = ShareUnit::kGpcs;
  std::size_t line = 2;
  for (const double share : shares) {
    for (const std::int64_t minibatch : {1, 2, 4, 8, 16, 32, 64}) {
      const double gpu = (0.6 + 0.4 * static_cast<double>(minibatch)) * 7 / share;
      const double idle = 0.4 + 0.05 * 5;
      const double step = std::max(5.0, gpu + idle);
      times.rows.push_back(
          {minibatch, share, "", 1, Nanoseconds(static_cast<std::int64_t>(step * 1e6)), {}, {}, line++});
    }
  }
  return times;
}

double work_ms(const ProcessDemands& demands, std::int64_t minibatch, double share) {
  return 1e3 * seconds(demands.find(minibatch, share)->gpu_work);
}

TEST(ProcessDemand, TellsTheHostsTimeFromTheGpus) {
  const ProcessDemands demands = process_demands(made_up({7}), {});
  EXPECT_EQ(demands.host_time, 5_ms);
  EXPECT_EQ(demands.find(32, 7)->origin, WorkOrigin::kGpuBound);
  EXPECT_NEAR(work_ms(demands, 32, 7), 13.4, 0.01);
  EXPECT_EQ(demands.find(2, 7)->origin, WorkOrigin::kOtherMinibatch);
  EXPECT_NEAR(work_ms(demands, 2, 7), 1.4, 0.01);
  EXPECT_EQ(demands.find(3, 7), nullptr);
}

TEST(ProcessDemand, TakesTheGpusTimeFromASmallerPartOfTheGpu) {
  StepTimes times = made_up({1, 7});
  // Curved, so that a line through larger minibatches would be wrong: an algorithm that only minibatch 2 has.
  for (StepTime& row : times.rows) {
    if (row.minibatch == 2 && row.share == 1) row.step = 15_ms;
  }
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_EQ(demands.find(2, 7)->origin, WorkOrigin::kOtherShare);
  EXPECT_NEAR(work_ms(demands, 2, 7), (15 - 0.65) / 7, 0.02);
}

TEST(ProcessDemand, TakesCopiesOffTheSteps) {
  StepTimes times = made_up({7});
  for (StepTime& row : times.rows) row.step += row.minibatch * 40_us;  // 1 MB a sample at 25 GB/s
  const ProcessDemands demands = process_demands(times, Bytes{1'000'000});
  EXPECT_NEAR(work_ms(demands, 64, 7), 26.2, 0.02);
}

TEST(ProcessDemand, IsNotKnownFromOneRow) {
  StepTimes times;
  times.rows = {{8, 1, "", 1, 5_ms, {}, {}, 2}};
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_FALSE(demands.host_time);
  EXPECT_EQ(demands.rows.front().origin, WorkOrigin::kAtMost);
  times.rows.front().gpu_busy = 2_ms;
  EXPECT_EQ(process_demands(times, {}).rows.front().gpu_work, 2_ms);
  EXPECT_EQ(process_demands(times, {}).rows.front().origin, WorkOrigin::kRecorded);
}

TEST(ProcessDemand, IsNotKnownFromRowsOnOneLevel) {
  StepTimes times;  // too close to each other to show a plateau
  times.rows = {{24, 1, "", 1, 10_ms, {}, {}, 2}, {32, 1, "", 1, 10'100_us, {}, {}, 3}};
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_FALSE(demands.host_time);
  for (const ProcessDemand& row : demands.rows) EXPECT_EQ(row.origin, WorkOrigin::kAtMost);
}

TEST(ProcessDemand, IsAtMostInProportionWhereTheHostDecidesEveryRow) {
  StepTimes times;
  times.rows = {{8, 1, "", 1, 5_ms, {}, {}, 2}, {64, 1, "", 1, 5_ms, {}, {}, 3}};
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_EQ(demands.rows[0].origin, WorkOrigin::kAtMost);
  EXPECT_NEAR(seconds(demands.rows[0].gpu_work) * 8, seconds(demands.rows[1].gpu_work), 1e-6);
}

TEST(ProcessDemand, IsThatOfAVggWhoseEveryStepTheGpuDecides) {
  StepTimes times;
  std::size_t line = 2;
  for (const std::int64_t minibatch : {1, 2, 4, 8, 16})
    times.rows.push_back({minibatch, 1, "", 1, Nanoseconds(1'500'000 + minibatch * 1'000'000), {}, {}, line++});
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_FALSE(demands.host_time);
  for (const ProcessDemand& row : demands.rows) EXPECT_EQ(row.origin, WorkOrigin::kGpuBound);
  EXPECT_NEAR(work_ms(demands, 4, 1), 5.1, 0.01);
}

TEST(ProcessDemand, IsNotKnownWhereStepsDoNotFollowTheShare) {
  // Host and GPU in turn: 12 ms of the host in every step.
  StepTimes times = made_up({1, 7});
  for (StepTime& row : times.rows) row.step = 12_ms + Nanoseconds(row.minibatch * 9'000'000 / (row.share == 1 ? 1 : 3));
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_FALSE(demands.follows_shares);
  for (const ProcessDemand& row : demands.rows) EXPECT_EQ(row.origin, WorkOrigin::kAtMost);
  EXPECT_TRUE(process_demands(made_up({1, 2, 7}), {}).follows_shares);
}

TEST(ProcessDemand, OfAPartKeepsTheGpuAsBusyAsTheWhole) {
  StepTimes times = made_up({7});
  times.rows.push_back({32, 7, "first half", 1, 7_ms, {}, {}, 99});
  const ProcessDemands demands = process_demands(times, {});
  const ProcessDemand* const whole = demands.find(32, 7);
  const ProcessDemand* const part = demands.find(32, 7, "first half");
  ASSERT_NE(part, nullptr);
  EXPECT_NEAR(seconds(part->gpu_work) / seconds(part->alone.step),
              seconds(whole->gpu_work) / seconds(whole->alone.step), 1e-3);
}

TEST(ProcessDemand, OfAPartComesFromWhatIsRecordedOfTheWhole) {
  StepTimes times;
  times.rows = {{32, 1, "", 1, 10_ms, 4_ms, {}, 2},
                {32, 1, "first half", 1, 5_ms, {}, {}, 3},
                {32, 1, "last half", 1, 6_ms, 1_ms, {}, 4},
                {16, 1, "first half", 1, 5_ms, {}, {}, 5}};
  const ProcessDemands demands = process_demands(times, {});
  EXPECT_EQ(demands.find(32, 1, "first half")->gpu_work, 2_ms);
  EXPECT_EQ(demands.find(32, 1, "first half")->origin, WorkOrigin::kRecorded);
  EXPECT_EQ(demands.find(32, 1, "last half")->gpu_work, 1_ms);
  EXPECT_EQ(demands.find(16, 1, "first half")->origin, WorkOrigin::kAtMost);
}

}  // namespace
}  // namespace cohort
