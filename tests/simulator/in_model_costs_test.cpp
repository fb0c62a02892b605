// Costs of ops that were timed in their places in the model.

#include <gtest/gtest.h>

#include "simulator/costs/cost_table.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

ProfileRecord timed(ProfileState state, int threads, int neighbours, Bytes footprint, std::int64_t nanoseconds,
                    std::string algorithm = "only") {
  ProfileRecord made = record("conv", Strategy::kSerial, 1, threads, nanoseconds);
  made.state = state;
  made.neighbours = neighbours;
  made.footprint = footprint;
  made.algorithm = std::move(algorithm);
  return made;
}

constexpr ProfileState kInModel = ProfileState::kInModel;
constexpr ProfileState kAlone = ProfileState::kWarm;

std::int64_t ns(const CostTable& table, const CostContext& context, std::string algorithm = "only",
                Strategy strategy = Strategy::kSerial, int width = 1) {
  const auto cost = table.cost({"conv", strategy, width, 1, std::move(algorithm)}, context);
  EXPECT_TRUE(cost) << cost.error().message;
  return cost ? cost->time.count() : 0;
}

TEST(InModelCosts, GoBeforeWhatAnOpTakesAlone) {
  const CostTable table(std::vector{timed(kAlone, 1, 0, 1_KiB, 50), timed(kInModel, 1, 0, 1_KiB, 100),
                                    timed(kInModel, 1, 0, 16_KiB, 200), timed(kInModel, 1, 1, 16_KiB, 300)});
  EXPECT_EQ(ns(table, {1_KiB, 0}), 100);
  EXPECT_EQ(ns(table, {4_KiB, 0}), 150);
  EXPECT_EQ(ns(table, {16_KiB, 1}), 300);
  EXPECT_TRUE(table.in_model());
  EXPECT_TRUE(table.in_model({"conv", Strategy::kSerial, 1, 1, "only"}));
}

TEST(InModelCosts, SlowALosingWayAsTheBestOneIsSlowed) {
  const CostTable table(std::vector{timed(kInModel, 1, 0, 1_KiB, 100), timed(kInModel, 1, 0, 16_KiB, 140),
                                    timed(kInModel, 1, 1, 1_KiB, 120), timed(kInModel, 1, 1, 16_KiB, 210),
                                    timed(kInModel, 1, 0, 1_KiB, 130, "other")});
  EXPECT_EQ(ns(table, {16_KiB, 0}, "other"), 170) << "40 ns more, as colder weights cost the best";
  EXPECT_EQ(ns(table, {16_KiB, 1}, "other"), 255) << "half as long again, as the best beside others";
}

TEST(InModelCosts, AddWhatTheModelAddsToFusedCallsTimedAlone) {
  ProfileRecord fused = record("conv", Strategy::kGroupedConvolution, 4, 1, 300);
  const CostTable table(std::vector{timed(kAlone, 1, 0, 1_KiB, 80), timed(kInModel, 1, 0, 1_KiB, 100), fused});
  EXPECT_EQ(ns(table, {1_KiB, 0}, "only", Strategy::kGroupedConvolution, 4), 320);
}

ProfileRecord among_teams(std::int64_t nanoseconds, std::string algorithm = "only") {
  ProfileRecord made = timed(kInModel, 1, 0, 1_KiB, nanoseconds, std::move(algorithm));
  made.around = 2;
  return made;
}

TEST(InModelCosts, AreOtherOnOneCoreAmongCallsOnSeveral) {
  const CostTable table(std::vector{timed(kInModel, 1, 0, 1_KiB, 100), among_teams(250),
                                    timed(kInModel, 1, 1, 1_KiB, 120), timed(kInModel, 1, 0, 1_KiB, 130, "other")});
  const CostContext context{1_KiB, 0, false, true};
  EXPECT_EQ(ns(table, {1_KiB, 0}), 100) << "where all are on one core";
  EXPECT_EQ(ns(table, context), 250);
  EXPECT_EQ(ns(table, context, "other"), 325) << "as much longer as the way that was timed so";
  EXPECT_EQ(ns(table, {1_KiB, 1, false, true}), 120) << "cores that run members of their own share nothing";
  EXPECT_TRUE(table.among_teams({"conv", Strategy::kSerial, 1, 1, "only"}));
  EXPECT_FALSE(table.among_teams({"conv", Strategy::kSerial, 1, 1, "other"}));
}

TEST(InModelCosts, AmongCallsOnSeveralCoresAreNoLowerThanElsewhere) {
  const CostTable table(std::vector{timed(kInModel, 1, 0, 1_KiB, 100), among_teams(90)});
  EXPECT_EQ(ns(table, {1_KiB, 0, false, true}), 100);
}

TEST(InModelCosts, AmongCallsOnSeveralCoresStandForWhatWasNotTimedElsewhere) {
  const CostTable table(std::vector{among_teams(90)});
  EXPECT_EQ(ns(table, {1_KiB, 0}), 90);
  EXPECT_TRUE(table.in_model());
}

TEST(InModelCosts, TellHowFarSamplesLieApart) {
  std::vector<ProfileRecord> records;
  for (const std::int64_t time : {90, 95, 100, 105, 110}) records.push_back(timed(kInModel, 1, 0, 1_KiB, time));
  EXPECT_NEAR(CostTable(records).spread(), 0.1 / 1.349, 1e-9) << "the middle half is from 95 to 105";
  EXPECT_EQ(CostTable(records).most_footprint(), 1_KiB);
}

TEST(InModelCosts, SayWhatOpsLeaveOfAStepInTurnAndWhatWasNotTimed) {
  Trace trace = fake_profile({timed(kInModel, 1, 0, 1_KiB, 100)}, 2);
  trace.info.wall_times.push_back({std::string(kWallInTurn), {Nanoseconds(200)}, 0});
  trace.info.wall_times.push_back({std::string(kWallOpsInTurn), {Nanoseconds(150)}, 0});
  trace.info.settings[std::string(kLacking)] = "fused forms of 3 ops";
  const auto table = CostTable::from(std::vector<const Trace*>{&trace});
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_DOUBLE_EQ(table->unexplained(), 0.25);
  EXPECT_EQ(table->lacking(), "fused forms of 3 ops");
}

}  // namespace
}  // namespace cohort
