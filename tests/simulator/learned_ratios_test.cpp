// What plans that were run teach of plans that were not.

#include "simulator/planner/learned_ratios.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/costs/recorded_catalog.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

/// A device on which concurrent members are recorded to take no longer than alone.
class LearnedRatiosTest : public testing::Test {
 protected:
  static std::optional<std::int64_t> time_of(const FakeCall& call) {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    return 1'000'000;
  }

  LearnedRatiosTest() { case_.device.cores = 2; }

  PlanningCase& case_of(const Plan& base) {
    models_.assign(base.members.size(), &model_);
    case_.base = &base;
    case_.models = models_;
    case_.costs = &costs_;
    case_.catalog = &catalog_;
    return case_;
  }

  [[nodiscard]] PlanningResult planned(const Plan& base, const LearnedRatios* learned) {
    PlanningCase& planning_case = case_of(base);
    planning_case.learned = learned;
    auto result = plan_model_batch(planning_case, {});
    EXPECT_TRUE(result) << result.error().message;
    return *std::move(result);
  }

  Model model_ = fake_mlp(16);
  CostTable costs_{fake_records(model_, 2, time_of)};
  RecordedCatalog catalog_{costs_, 2, Precision::kFloat32, 0};
  std::vector<const Model*> models_;
  PlanningCase case_;
};

TEST_F(LearnedRatiosTest, LeadThePlannerToAnotherChoiceWhereTheFirstOneLoses) {
  const Plan base = fake_base(4);
  const PlanningResult before = planned(base, nullptr);
  const PlanCandidate& best = before.ranked.front();
  ASSERT_GT(best.speedup, 1.5) << "two cores, no slowdown recorded";
  ASSERT_EQ(best.plan.streams, 2);
  // Run, whatever uses two streams takes three times as long as predicted, and the rest as long as predicted.
  const auto measured = [](const PlanCandidate& candidate) {
    return candidate.prediction.step_time * (candidate.plan.streams > 1 ? 3 : 1);
  };
  std::vector<CheckedPlan> checked;
  for (std::size_t i = 0; i < 3; ++i)
    checked.push_back({before.ranked[i].plan, measured(before.ranked[i]), before.baseline.step_time});
  case_.learned = nullptr;
  const auto learned = LearnedRatios::from(case_of(base), checked);
  ASSERT_TRUE(learned) << learned.error().message;
  EXPECT_NEAR(learned->of(best.plan), 3, 0.05);
  EXPECT_TRUE(learned->was_run(best.plan));
  const PlanningResult after = planned(base, &*learned);
  EXPECT_EQ(after.ranked.front().plan.streams, 1) << after.ranked.front().name;
  const auto same = std::find_if(after.ranked.begin(), after.ranked.end(),
                                 [&](const PlanCandidate& each) { return each.name == best.name; });
  ASSERT_NE(same, after.ranked.end());
  EXPECT_NEAR(seconds(same->prediction.step_time), seconds(measured(best)), 0.02 * seconds(measured(best)))
      << "a plan that was run is predicted as it was measured";
}

TEST_F(LearnedRatiosTest, HoldOneAfterAnotherAndTheBaselineAlike) {
  Plan base = fake_base(4);
  base.input.sharing = InputSharing::kShared;
  const PlanningResult before = planned(base, nullptr);
  const PlanCandidate& best = before.ranked.front();
  const std::vector<CheckedPlan> checked{
      {best.plan, best.prediction.step_time, before.baseline.step_time + before.baseline.step_time / 5}};
  case_.learned = nullptr;
  const auto learned = LearnedRatios::from(case_of(base), checked);
  ASSERT_TRUE(learned) << learned.error().message;
  const PlanningResult after = planned(base, &*learned);
  const auto in_turn = std::find_if(after.ranked.begin(), after.ranked.end(),
                                    [](const PlanCandidate& each) { return each.name == kOneAfterAnother; });
  ASSERT_NE(in_turn, after.ranked.end());
  EXPECT_GT(after.baseline.step_time, before.baseline.step_time);
  EXPECT_EQ(in_turn->prediction.step_time, after.baseline.step_time);
}

TEST_F(LearnedRatiosTest, TellFusedPlansOfSharedFromThoseOfSeparateInput) {
  Plan fused = uniform_plan(fake_base(4).members, Strategy::kStridedBatch, 1);
  fused.input.sharing = InputSharing::kShared;
  const Plan base = fake_base(4);
  const auto learned = LearnedRatios::from(case_of(base), std::vector<CheckedPlan>{{fused, 1_ms, 4_ms}});
  ASSERT_TRUE(learned) << learned.error().message;
  EXPECT_TRUE(learned->was_run(fused));
  fused.input.sharing = InputSharing::kSeparate;
  EXPECT_FALSE(learned->was_run(fused));
}

TEST_F(LearnedRatiosTest, ReachOtherNumbersOfMembersInPart) {
  const Plan base = fake_base(4);
  const PlanCandidate best = planned(base, nullptr).ranked.front();
  const std::vector<CheckedPlan> checked{{best.plan, best.prediction.step_time * 2, 8'000'000_ns}};
  case_.learned = nullptr;
  const auto learned = LearnedRatios::from(case_of(base), checked);
  ASSERT_TRUE(learned) << learned.error().message;
  const auto concurrent = [&](std::size_t members) {
    Plan plan = uniform_plan(fake_base(members).members, Strategy::kConcurrent, 2);
    plan.launch = best.plan.launch;
    return learned->of(plan);
  };
  EXPECT_FALSE(learned->was_run(uniform_plan(fake_base(8).members, Strategy::kConcurrent, 2)));
  EXPECT_GT(concurrent(8), 1.2);
  EXPECT_LT(concurrent(8), 2);
  EXPECT_LT(concurrent(64), concurrent(8)) << "the less alike, the less is learned";
  EXPECT_GT(concurrent(64), 1);
}

TEST_F(LearnedRatiosTest, SayNothingOfOtherModelsNorOfPlansThatDecode) {
  const Plan base = fake_base(2);
  const PlanCandidate best = planned(base, nullptr).ranked.front();
  case_.learned = nullptr;
  const auto learned =
      LearnedRatios::from(case_of(base), std::vector<CheckedPlan>{{best.plan, best.prediction.step_time * 2, 1_ms}});
  ASSERT_TRUE(learned) << learned.error().message;
  Plan other = best.plan;
  for (Member& member : other.members) member.source.model = "another";
  EXPECT_DOUBLE_EQ(learned->of(other), 1);
  Plan decodes = best.plan;
  decodes.input.source = InputSource::kFolder;
  EXPECT_DOUBLE_EQ(learned->of(decodes), 1);
}

TEST_F(LearnedRatiosTest, LearnOfPlansThatTheHostHoldsUp) {
  const Plan base = fake_base(2);
  case_.device.step_overhead = 1500_us;
  const PlanCandidate best = planned(base, nullptr).ranked.front();
  case_.learned = nullptr;
  const auto learned = LearnedRatios::from(
      case_of(base), std::vector<CheckedPlan>{{best.plan, best.prediction.step_time / 2, best.prediction.step_time}});
  ASSERT_TRUE(learned) << learned.error().message;
  EXPECT_TRUE(learned->was_run(best.plan)) << "ops that took no time at all would still not make it that short";
  EXPECT_NEAR(learned->of(best.plan), 0.25, 0.001) << "the least that is believed";
}

TEST_F(LearnedRatiosTest, NarrowTheIntervalOfWhatWasRun) {
  const Plan base = fake_base(4);
  const PlanCandidate best = planned(base, nullptr).ranked.front();
  case_.learned = nullptr;
  const auto learned = LearnedRatios::from(
      case_of(base), std::vector<CheckedPlan>{{best.plan, best.prediction.step_time, best.prediction.step_time * 2}});
  ASSERT_TRUE(learned) << learned.error().message;
  const PlanCandidate after = planned(base, &*learned).ranked.front();
  EXPECT_LT(after.interval.high / after.interval.low, best.interval.high / best.interval.low);
}

}  // namespace
}  // namespace cohort
