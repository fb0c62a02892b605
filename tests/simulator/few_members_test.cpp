#include "simulator/planner/few_members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "simulator/planner/plan_report.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;

TEST(FewMembers, StandForManyInProportion) {
  const PlannerBench small = cnn_bench({}, 16);
  EXPECT_FALSE(FewMembers::of(small.planning_case(), {}));
  EXPECT_EQ(searched_part(small.planning_case()), 1);

  Model other = fake_cnn(2);
  other.ops.front().name = "first";
  PlannerBench bench({fake_cnn(2), other, fake_cnn(2)}, 3'000, times_of({}));
  const auto few = FewMembers::of(bench.planning_case(), {});
  ASSERT_TRUE(few);
  const PlanningCase planning_case = few->planning_case();
  const std::size_t count = planning_case.models.size();
  EXPECT_LE(count * other.ops.size(), kMostSearchedSteps + other.ops.size());
  EXPECT_GT(2 * count * other.ops.size(), kMostSearchedSteps);
  EXPECT_EQ(planning_case.base->members.size(), count);
  const auto others = std::count_if(planning_case.models.begin(), planning_case.models.end(),
                                    [](const Model* model) { return model->ops.front().name == "first"; });
  EXPECT_NEAR(static_cast<double>(others), static_cast<double>(count) / 3, 1.0);
  EXPECT_LT(searched_part(bench.planning_case()), 0.5);
}

TEST(FewMembers, HaveTwoOfARareModelToFuse) {
  std::vector<Model> models(500, fake_cnn(2));
  models[7].ops.front().name = "first";
  PlannerBench bench(models, 3'000, times_of({}));
  const auto few = FewMembers::of(bench.planning_case(), {});
  ASSERT_TRUE(few);
  const PlanningCase planning_case = few->planning_case();
  EXPECT_EQ(std::count_if(planning_case.models.begin(), planning_case.models.end(),
                          [](const Model* model) { return model->ops.front().name == "first"; }),
            2);
}

TEST(FewMembers, DoNotStandForThoseWhomALimitBinds) {
  PlannerBench bench = cnn_bench({}, 3'000);
  EXPECT_TRUE(FewMembers::of(bench.planning_case(), {}));
  EXPECT_FALSE(FewMembers::of(bench.planning_case(), {.latency_limit = Nanoseconds(1)}));
  EXPECT_FALSE(FewMembers::of(bench.planning_case(), {.objective = Objective::kP99Latency}));
  EXPECT_FALSE(FewMembers::of(bench.planning_case(), {.pareto = true}));
  bench.base.limits.memory = Bytes{1 << 30};
  EXPECT_FALSE(FewMembers::of(bench.planning_case(), {}));
}

TEST(FewMembers, FindThePlanThatAllHave) {
  const Prices prices{.all_cores = 0.6, .beside = 1.0, .strided = 0.1, .dense = 0.2};
  const PlanningResult few = cnn_bench(prices, 8).plan();
  const PlannerBench bench = cnn_bench(prices, 2'000);
  const PlanningResult many = bench.plan();
  EXPECT_EQ(many.ranked.front().name, few.ranked.front().name);
  EXPECT_LE(many.ranked.size(), 5U);
  EXPECT_EQ(many.baseline.step_time, few.baseline.step_time * 250);
  EXPECT_EQ(many.baseline.baselines.front().members.size(), 2'000U);
  EXPECT_EQ(many.ranked.front().plan.members.size(), 2'000U);
  EXPECT_NE(find(many, kOneAfterAnother), nullptr);
  for (std::size_t i = 1; i < many.ranked.size(); ++i)
    EXPECT_LE(many.ranked[i - 1].prediction.step_time, many.ranked[i].prediction.step_time);
  // What is ranked was predicted with all members.
  const auto predicted = predict_plan(bench.planning_case(), many.ranked.front().plan, {});
  ASSERT_TRUE(predicted) << predicted.error().message;
  EXPECT_EQ(predicted->run.prediction.step_time, many.ranked.front().prediction.step_time);
  // What was not has the least time that it could have with all.
  EXPECT_GT(many.screened.size(), 5U);
  for (const ScreenedCandidate& each : many.screened)
    EXPECT_GT(each.bound, few.ranked.front().prediction.step_time * 100) << each.name;
}

TEST(FewMembers, GainInTheProportionsThatAllGainIn) {
  const PlannerBench bench = cnn_bench({.all_cores = 0.6, .beside = 1.0, .strided = 0.1, .dense = 0.2}, 2'000);
  const PlanningResult all = bench.plan();
  const PlanCandidate& best = all.ranked.front();
  ASSERT_TRUE(best.explained);
  const auto sum_of = [](const Attribution& parts) {
    return std::accumulate(parts.saved.begin(), parts.saved.end(), Nanoseconds(0));
  };
  EXPECT_EQ(sum_of(best.attribution), all.baseline.step_time - best.prediction.step_time);
  // As a walk over all of them finds it.
  const auto walked = report_plan(bench.planning_case(), best.plan, {});
  ASSERT_TRUE(walked) << walked.error().message;
  const double gain = seconds(all.baseline.step_time - best.prediction.step_time);
  for (std::size_t i = 0; i < kGainCauses; ++i) {
    const std::string_view cause = to_string(static_cast<GainCause>(i));
    const auto part = std::ranges::find(walked->gain, cause, &GainPart::cause);
    const Nanoseconds found = part == walked->gain.end() ? Nanoseconds(0) : part->gain;
    EXPECT_NEAR(seconds(best.attribution.saved[i]), seconds(found), 0.01 * gain) << cause;
  }
}

TEST(FewMembers, SayNothingOfAGainThatIsAnother) {
  PlanningResult few;
  few.baseline = {1000_ns, 900_ns, {}, std::vector<Nanoseconds>(10, 100_ns)};
  PlanCandidate& known = few.ranked.emplace_back();
  known.name = "concurrent x2";
  known.prediction.step_time = 600_ns;
  known.explained = true;
  known.attribution.saved = {0_ns, 51_ns, 333_ns, 16_ns, 0_ns};
  const auto of_all = [&](std::string name, Nanoseconds step_time) {
    PlanCandidate candidate;
    candidate.name = std::move(name);
    candidate.prediction.step_time = step_time;
    return gain_as_of_few(few, candidate, {10'000_ns, 9'000_ns, {}, std::vector<Nanoseconds>(100, 100_ns)});
  };
  const auto ten_times = of_all("concurrent x2", 6'000_ns);
  ASSERT_TRUE(ten_times);
  EXPECT_EQ(ten_times->saved, (std::array{0_ns, 510_ns, 3'330_ns, 160_ns, 0_ns}));
  const auto a_little_less = of_all("concurrent x2", 6'001_ns);
  ASSERT_TRUE(a_little_less);
  EXPECT_EQ(std::accumulate(a_little_less->saved.begin(), a_little_less->saved.end(), Nanoseconds(0)), 3'999_ns);
  EXPECT_FALSE(of_all("concurrent x2", 8'000_ns)) << "half as much";
  EXPECT_FALSE(of_all("concurrent x2", 11'000_ns)) << "a loss";
  EXPECT_FALSE(of_all("another", 6'000_ns));
  known.explained = false;
  EXPECT_FALSE(of_all("concurrent x2", 6'000_ns));
}

TEST(FewMembers, HaveABestSoFarWhenTheSearchIsCancelled) {
  CancelToken cancel;
  PlannerOptions options;
  options.cancel = &cancel;
  options.progress = [&](std::size_t done, std::size_t) {
    if (done == 3) cancel.cancel();
  };
  const PlanningResult result = cnn_bench({}, 1'000).plan(options);
  EXPECT_TRUE(result.interrupted);
  ASSERT_FALSE(result.ranked.empty());
  EXPECT_EQ(result.ranked.front().plan.members.size(), 1'000U);
}

}  // namespace
}  // namespace cohort
