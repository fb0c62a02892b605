// The planner beside an exhaustive search on random small cases.

#include <gtest/gtest.h>

#include "simulator/planner/exhaustive.hpp"
#include "tests/simulator/random_planning.hpp"

namespace cohort {
namespace {

constexpr std::uint64_t kCases = 30;
constexpr double kMostRegret = 0.02;

void expect_no_regret(std::unique_ptr<RandomPlanning> (*make)(std::uint64_t)) {
  double sum = 0;
  std::size_t evaluated = 0;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    const auto random = make(seed);
    const auto planned = plan_model_batch(random->planning_case());
    ASSERT_TRUE(planned.has_value()) << planned.error().message;
    const auto exhaustive = search_exhaustively(random->planning_case(), Objective::kThroughput);
    ASSERT_TRUE(exhaustive.has_value()) << exhaustive.error().message;
    const auto found = static_cast<double>(planned->ranked.front().prediction.step_time.count());
    const double regret = found / exhaustive->least_cost - 1;
    EXPECT_LT(regret, kMostRegret) << "case " << seed << ": " << planned->ranked.front().name;
    sum += std::max(0.0, regret);
    evaluated += exhaustive->evaluated;
  }
  EXPECT_LT(sum / kCases, kMostRegret / 4) << "on average";
  EXPECT_GT(evaluated, 20 * kCases) << "the cases leave something to choose";
}

TEST(PlannerRegret, IsUnderTwoPercentOfTheExhaustiveBest) { expect_no_regret(&RandomPlanning::small); }

TEST(PlannerRegret, IsUnderTwoPercentOnAGpuToo) { expect_no_regret(&RandomPlanning::small_on_gpu); }

TEST(PlannerRegret, BoundsHoldForEveryCandidate) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const auto random = RandomPlanning::small(seed);
    const auto all = plan_model_batch(random->planning_case());
    const auto few = plan_model_batch(random->planning_case(), {.least_simulated = 1, .most_simulated = 4});
    ASSERT_TRUE(all.has_value() && few.has_value());
    for (const ScreenedCandidate& screened : few->screened) {
      for (const PlanCandidate& candidate : all->ranked) {
        if (candidate.name != screened.name) continue;
        EXPECT_LE(screened.bound, candidate.prediction.step_time) << "case " << seed << ": " << candidate.name;
        EXPECT_LE(candidate.prediction.lower_bound, candidate.prediction.step_time) << candidate.name;
      }
    }
  }
}

TEST(PlannerRegret, ExhaustiveSearchRefusesWhatIsTooLarge) {
  RandomPlanning random(1, {.ops = 40, .members = 2, .cores = 2});
  const auto refused = search_exhaustively(random.planning_case(), Objective::kThroughput, 1000);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "there are more than 1000 plans");
}

}  // namespace
}  // namespace cohort
