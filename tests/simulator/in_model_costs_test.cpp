// Costs of ops that were timed in their places in the model.

#include <gtest/gtest.h>

#include "simulator/costs/cost_table.hpp"
#include "simulator/planner/uncertainty.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace std::chrono_literals;

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

/// How wide the interval of a speedup of 1 is.
double interval_of(const std::vector<ProfileRecord>& records, int streams) {
  const CostTable table(records);
  PlanningCase planning_case;
  planning_case.costs = &table;
  Plan plan;
  plan.streams = streams;
  Prediction prediction;
  prediction.step_time = 1ms;
  const SpeedupInterval interval = speedup_interval(planning_case, plan, prediction, 1);
  return interval.high / interval.low;
}

TEST(InModelCosts, LeaveStreamsInDoubtWhereNothingWasTimedBesideOthers) {
  const std::vector alone{timed(kInModel, 1, 0, 1_KiB, 100)};
  const std::vector beside{timed(kInModel, 1, 0, 1_KiB, 100), timed(kInModel, 1, 1, 1_KiB, 120)};
  EXPECT_DOUBLE_EQ(interval_of(alone, 1), interval_of(beside, 1));
  EXPECT_DOUBLE_EQ(interval_of(beside, 2), interval_of(beside, 1));
  EXPECT_GT(interval_of(alone, 2), 1.3 * interval_of(beside, 2));
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

TEST(InModelCosts, AddColdWeightsOnceForEachMemberThatBringsItsOwn) {
  ProfileRecord alone = timed(kAlone, 1, 0, 1_KiB, 80);
  alone.packed_weights = Bytes{768};
  ProfileRecord own = record("conv", Strategy::kGroupedConvolution, 4, 1, 300);
  own.packed_weights = 3_KiB;
  const CostTable table(std::vector{alone, timed(kInModel, 1, 0, 1_KiB, 100), own});
  EXPECT_EQ(ns(table, {1_KiB, 0}, "only", Strategy::kGroupedConvolution, 4), 365)
      << "of the 20 ns that the model adds, three quarters are for weights";
}

TEST(InModelCosts, AddColdWeightsByTheSameAlgorithmElseByTheOneThatPacksLeast) {
  const auto single = [](ProfileState state, std::string algorithm, std::int64_t nanoseconds, Bytes packed) {
    ProfileRecord made = timed(state, 1, 0, 1_KiB, nanoseconds, std::move(algorithm));
    made.packed_weights = packed;
    return made;
  };
  ProfileRecord direct = record("conv", Strategy::kGroupedConvolution, 4, 1, 300);
  direct.algorithm = "direct";
  direct.packed_weights = 4_KiB;
  ProfileRecord other = direct;
  other.algorithm = "other";
  const CostTable table(std::vector{single(kAlone, "a_winograd", 70, 4_KiB), single(kInModel, "a_winograd", 170, 4_KiB),
                                    single(kAlone, "direct", 80, 1_KiB), single(kInModel, "direct", 100, 1_KiB), direct,
                                    other});
  EXPECT_EQ(ns(table, {1_KiB, 0}, "direct", Strategy::kGroupedConvolution, 4), 380);
  EXPECT_EQ(ns(table, {1_KiB, 0}, "other", Strategy::kGroupedConvolution, 4), 380);
}

ProfileRecord among_teams(std::int64_t nanoseconds, std::string algorithm = "only") {
  ProfileRecord made = timed(kInModel, 1, 0, 1_KiB, nanoseconds, std::move(algorithm));
  made.around = 2;
  return made;
}

TEST(InModelCosts, AreOtherOnOneCoreAmongCallsOnSeveral) {
  std::vector<ProfileRecord> records{timed(kInModel, 1, 0, 1_KiB, 100), among_teams(250),
                                     timed(kInModel, 1, 1, 1_KiB, 120), timed(kInModel, 1, 0, 1_KiB, 130, "other")};
  for (const char* other_op : {"pool", "softmax"}) {  // these usually take no longer
    for (ProfileRecord each : {timed(kInModel, 1, 0, 1_KiB, 100), among_teams(100)}) {
      each.signature = other_op;
      records.push_back(each);
    }
  }
  const CostTable table(records);
  const CostContext context{1_KiB, 0, false, true};
  EXPECT_EQ(ns(table, {1_KiB, 0}), 100) << "where all are on one core";
  EXPECT_EQ(ns(table, context), 250);
  EXPECT_EQ(ns(table, context, "other"), 325) << "as much longer as the way that was timed so";
  EXPECT_EQ(ns(table, {1_KiB, 1, false, true}), 120) << "cores that run members of their own share nothing";
  const CostKey only{"conv", Strategy::kSerial, 1, 1, "only"};
  EXPECT_TRUE(table.among_teams(only, 1_KiB));
  EXPECT_TRUE(table.among_teams(only, 16_KiB)) << "nothing was timed with as large a footprint";
  EXPECT_FALSE(table.among_teams({"conv", Strategy::kSerial, 1, 1, "other"}, 1_KiB));
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

TEST(InModelCosts, AmongCallsOnSeveralCoresDoNotMakeMoreMembersCheaper) {
  ProfileRecord fused = record("conv", Strategy::kGroupedConvolution, 4, 1, 360);
  const CostTable table(std::vector{timed(kInModel, 1, 0, 1_KiB, 100), among_teams(250), fused});
  const std::int64_t usual = ns(table, {1_KiB, 0}, "only", Strategy::kGroupedConvolution, 16);
  EXPECT_EQ(ns(table, {1_KiB, 0, false, true}, "only", Strategy::kGroupedConvolution, 16), usual);
}

TEST(InModelCosts, BetweenFusedCallsCountAmongCallsOnSeveralCoresOnce) {
  ProfileRecord in_plan = timed(ProfileState::kInPlan, 1, 0, 1_KiB, 300);
  in_plan.around = 2;
  const CostTable table(std::vector{timed(kInModel, 1, 0, 1_KiB, 100), among_teams(250), in_plan,
                                    timed(kInModel, 1, 0, 1_KiB, 200, "other")});
  EXPECT_EQ(ns(table, {1_KiB, 0, true, true}), 300);
  EXPECT_EQ(ns(table, {1_KiB, 0, true, true}, "other"), 600) << "200 by 250 / 100 by 300 / 250";
}

TEST(InModelCosts, AreKnownWhereAnOpWasTimedInOneContextOnly) {
  EXPECT_EQ(ns(CostTable(std::vector{timed(kInModel, 1, 1, 1_KiB, 120)}), {1_KiB, 0}), 120);
  const CostTable table(std::vector{timed(kInModel, 1, 1, 1_KiB, 120), among_teams(250)});
  EXPECT_EQ(ns(table, {1_KiB, 0, false, true}), 250);
  ProfileRecord fused = record("conv", Strategy::kGroupedConvolution, 4, 1, 360);
  fused.state = kInModel;
  EXPECT_EQ(ns(CostTable(std::vector{fused}), {1_KiB, 0}, "only", Strategy::kGroupedConvolution, 4), 360);
}

TEST(InModelCosts, TellHowFarSamplesLieApart) {
  std::vector<ProfileRecord> records;
  for (const std::int64_t time : {90, 95, 100, 105, 110}) records.push_back(timed(kInModel, 1, 0, 1_KiB, time));
  EXPECT_NEAR(CostTable(records).spread(), 0.1 / 1.349, 1e-9) << "the middle half is from 95 to 105";
  EXPECT_EQ(CostTable(records).most_footprint(), 1_KiB);
  for (int i = 0; i < 5; ++i) {
    ProfileRecord nothing = timed(kInModel, 1, 0, 1_KiB, 0);
    nothing.signature = "pool";
    records.push_back(nothing);
  }
  EXPECT_NEAR(CostTable(records).spread(), 0.1 / 1.349, 1e-9) << "what takes no time has no spread";
}

TEST(InModelCosts, AreNoStageOfAStep) {
  ProfileRecord overhead = timed(kInModel, 1, 0, 1_KiB, 100);
  overhead.signature = std::string(kStepOverheadRecord);
  EXPECT_EQ(CostTable(std::vector{overhead}).stage(kStepOverheadRecord), std::nullopt);
}

TEST(InModelCosts, TellHowFarWholeStepsLayApart) {
  const auto variation = [](std::vector<Nanoseconds> in_turn) {
    Trace trace = fake_profile({timed(kInModel, 1, 0, 1_KiB, 100)}, 2);
    trace.info.wall_times.push_back({std::string(kWallInTurn), in_turn, 0});
    trace.info.wall_times.push_back({std::string(kWallOpsInTurn), std::move(in_turn), 0});
    return CostTable::from(std::vector<const Trace*>{&trace}).value().variation();
  };
  EXPECT_NEAR(variation({90ns, 95ns, 100ns, 105ns, 110ns}), 0.16 / 2.563, 1e-9) << "80% lie from 92 to 108";
  EXPECT_EQ(variation({100ns, 100ns, 100ns, 100ns}), 0);
  EXPECT_EQ(variation({90ns, 110ns}), 0) << "too few to tell";
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
