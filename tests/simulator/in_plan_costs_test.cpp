// Costs of calls that were timed in plans that fuse ops.

#include <gtest/gtest.h>

#include "simulator/costs/cost_table.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

constexpr Strategy kSerial = Strategy::kSerial;
constexpr Strategy kGrouped = Strategy::kGroupedConvolution;

ProfileRecord timed(ProfileState state, Strategy strategy, int width, int neighbours, std::int64_t nanoseconds,
                    std::string signature = "conv") {
  ProfileRecord made = record(std::move(signature), strategy, width, 1, nanoseconds);
  made.state = state;
  made.neighbours = neighbours;
  made.footprint = 1_KiB;
  return made;
}

ProfileRecord in_plan(Strategy strategy, int width, int neighbours, std::int64_t nanoseconds) {
  return timed(ProfileState::kInPlan, strategy, width, neighbours, nanoseconds);
}

/// A call that takes 100 ns in its model, 150 beside another, and fused alone 200 by four and 500 by sixteen members.
std::vector<ProfileRecord> profile(const std::vector<ProfileRecord>& more) {
  std::vector<ProfileRecord> records = {
      timed(ProfileState::kInModel, kSerial, 1, 0, 100), timed(ProfileState::kInModel, kSerial, 1, 1, 150),
      timed(ProfileState::kWarm, kGrouped, 4, 0, 200), timed(ProfileState::kWarm, kGrouped, 16, 0, 500)};
  records.insert(records.end(), more.begin(), more.end());
  return records;
}

std::int64_t ns(const CostTable& table, Strategy strategy, int width, const CostContext& context,
                std::string signature = "conv") {
  const auto cost = table.cost({std::move(signature), strategy, width, 1, "only"}, context);
  EXPECT_TRUE(cost) << cost.error().message;
  return cost ? cost->time.count() : 0;
}

TEST(InPlanCosts, GoBeforeWhatAFusedCallTakesAlone) {
  const CostTable table(profile({in_plan(kGrouped, 16, 0, 800)}));
  EXPECT_EQ(ns(table, kGrouped, 16, {1_KiB, 0}), 800);
  EXPECT_TRUE(table.in_model({"conv", kGrouped, 16, 1, "only"}));
  EXPECT_FALSE(table.in_model({"conv", kGrouped, 4, 1, "only"}));
}

TEST(InPlanCosts, SlowOtherWidthsAsTheNearestOneIsSlowed) {
  const CostTable table(profile({in_plan(kGrouped, 16, 0, 800)}));
  EXPECT_EQ(ns(table, kGrouped, 4, {1_KiB, 0}), 320) << "as 800 to 500";
  EXPECT_EQ(ns(table, kGrouped, 10, {1_KiB, 0}), 560) << "between the two";
  const CostTable both(profile({in_plan(kGrouped, 8, 0, 600), in_plan(kGrouped, 16, 0, 500)}));
  EXPECT_EQ(ns(both, kGrouped, 4, {1_KiB, 0}), 400) << "eight would take 300 alone";
}

TEST(InPlanCosts, HoldBesideOthersAsSingleCallsAreSlowedThere) {
  const CostTable alone(profile({in_plan(kGrouped, 16, 0, 800)}));
  EXPECT_EQ(ns(alone, kGrouped, 16, {1_KiB, 1}), 1200);
  const CostTable beside(profile({in_plan(kGrouped, 16, 1, 1200)}));
  EXPECT_EQ(ns(beside, kGrouped, 16, {1_KiB, 0}), 800);
  EXPECT_EQ(ns(beside, kGrouped, 16, {1_KiB, 1}), 1200);
  const CostTable among_more(
      profile({in_plan(kGrouped, 16, 1, 1200), timed(ProfileState::kInModel, kSerial, 1, 3, 300)}));
  EXPECT_EQ(ns(among_more, kGrouped, 16, {1_KiB, 3}), 2400)
      << "alone 800, three others make it take three times as long";
}

TEST(InPlanCosts, SlowFusedCallsThatWereNeverInAPlanAsUsual) {
  const CostTable table(
      profile({in_plan(kGrouped, 16, 0, 800), timed(ProfileState::kInModel, kSerial, 1, 0, 10, "pool"),
               timed(ProfileState::kWarm, kGrouped, 4, 0, 20, "pool")}));
  EXPECT_EQ(ns(table, kGrouped, 4, {1_KiB, 0}, "pool"), 32);
  const CostTable faster(
      profile({in_plan(kGrouped, 16, 0, 400), timed(ProfileState::kInModel, kSerial, 1, 0, 10, "pool"),
               timed(ProfileState::kWarm, kGrouped, 4, 0, 20, "pool")}));
  EXPECT_EQ(ns(faster, kGrouped, 4, {1_KiB, 0}, "pool"), 20) << "what one op gains is not promised to others";
}

TEST(InPlanCosts, AreASingleCallsOwnBetweenFusedOnes) {
  const CostTable table(
      profile({in_plan(kSerial, 1, 0, 130), timed(ProfileState::kInModel, kSerial, 1, 0, 10, "pool")}));
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 0, true}), 130);
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 0, false}), 100);
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 0, true}, "pool"), 13) << "as usual";
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 1, true}), 195) << "and beside others";
}

TEST(InPlanCosts, HoldWithoutAnyTimeOfTheOpInItsModel) {
  const CostTable table(std::vector{in_plan(kSerial, 1, 0, 130), in_plan(kGrouped, 4, 1, 400)});
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 0}), 130);
  EXPECT_EQ(ns(table, kGrouped, 4, {1_KiB, 1}), 400);
}

TEST(InPlanCosts, MakeNoSingleCallFaster) {
  const CostTable table(profile({in_plan(kSerial, 1, 0, 80)}));
  EXPECT_EQ(ns(table, kSerial, 1, {1_KiB, 0, true}), 100);
}

}  // namespace
}  // namespace cohort
