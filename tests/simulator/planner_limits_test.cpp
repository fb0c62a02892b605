// Limits of memory, workspace and latency, and what a plan is judged by.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "models/builder.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// Two ways for every op: "only" without workspace, "fast" in half the time with 1 MiB of it.
std::vector<ProfileRecord> with_fast_way(const std::vector<ProfileRecord>& records) {
  std::vector<ProfileRecord> more = records;
  for (const ProfileRecord& each : records) {
    if (each.signature.starts_with("Copy")) continue;
    ProfileRecord fast = each;
    fast.algorithm = "fast";
    fast.workspace = 1_MiB;
    fast.time /= 2;
    more.push_back(fast);
  }
  return more;
}

TEST(Planner, TakesTheFastestWayThatTheWorkspaceLimitAllows) {
  PlannerBench bench = cnn_bench({});
  bench.set_records(with_fast_way(bench.records()));
  const auto algorithms = [&](std::optional<Bytes> limit) {
    bench.base.limits.workspace = limit;
    const PlanningResult result = bench.plan();
    std::set<std::string> used;
    for (const ResolvedStep& step : result.ranked.front().plan.resolved->steps) used.insert(step.algorithm);
    return used;
  };
  EXPECT_EQ(algorithms(std::nullopt), std::set<std::string>{"fast"});
  EXPECT_EQ(algorithms(2_MiB), std::set<std::string>{"fast"});
  EXPECT_EQ(algorithms(64_KiB), std::set<std::string>{"only"});
}

TEST(Planner, HandsWorkspaceOutOverTheWholeBatch) {
  // Four members in turn share one workspace of 1 MiB: equal shares of the limit would leave 512 KiB for each.
  PlannerBench bench = cnn_bench({.all_cores = 0.45, .beside = 1.0});
  bench.set_records(with_fast_way(bench.records()));
  const auto memory_of = [&] {
    const PlanningResult free = bench.plan();
    return free.ranked.front().prediction.memory;
  };
  const MemoryUse all = memory_of();
  bench.base.limits.memory = all.total() - Bytes{1};
  const PlanningResult limited = bench.plan();
  const auto is_limited = [](const PlanCandidate& each) { return each.limited && each.equal_shares; };
  const auto found = std::find_if(limited.ranked.begin(), limited.ranked.end(), is_limited);
  ASSERT_NE(found, limited.ranked.end()) << print(limited);
  EXPECT_LE(found->prediction.step_time, *found->equal_shares);
  EXPECT_THAT(found->explanation, HasSubstr(", limited: "));
  EXPECT_THAT(explain(limited, 100), HasSubstr("     limited  workspace over the whole model batch "));
  for (const PlanCandidate& each : limited.ranked) EXPECT_LE(each.prediction.memory.total(), *bench.base.limits.memory);
}

TEST(Planner, GivesWorkspaceToTheStreamThatHoldsUpTheOthers) {
  // Side by side: 300 us + 100 us, and 100 us + 100 us. With 1 MiB of workspace an op takes a tenth of it.
  PlannerBench bench({fake_mlp(6), fake_mlp(7)}, 2, times_of({.all_cores = 1.0, .beside = 1.0}));
  std::vector<ProfileRecord> records;
  const std::string slow = signature_of(bench.model(0), bench.model(0).ops[0]);
  for (ProfileRecord each : bench.records()) {
    if (each.signature == slow) each.time *= 3;
    records.push_back(each);
    if (each.signature.starts_with("Copy") || each.strategy != "serial" || each.threads > 1) continue;
    each.algorithm = "fast";
    each.workspace = 1_MiB;
    each.time /= 10;
    records.push_back(each);
  }
  bench.set_records(records);
  bench.base.limits.workspace = 1_MiB + 64_KiB;  // room for one stream's
  const PlanningResult result = bench.plan({.most_explained = 100});
  const PlanCandidate* beside = find(result, "concurrent x2");
  ASSERT_NE(beside, nullptr) << print(result);
  EXPECT_TRUE(beside->limited);
  EXPECT_LE(beside->prediction.memory.workspace, *bench.base.limits.workspace);
  EXPECT_EQ(beside->prediction.step_time, Nanoseconds(200'000));
  ASSERT_TRUE(beside->equal_shares.has_value());
  EXPECT_EQ(*beside->equal_shares, Nanoseconds(400'000)) << "half of the limit is room for none";
}

TEST(Planner, ShowsTimeAgainstMemory) {
  PlannerBench bench = cnn_bench({});
  bench.set_records(with_fast_way(bench.records()));
  const PlanningResult result = bench.plan({.pareto = true});
  ASSERT_GE(result.pareto.size(), 2U) << print_pareto(result);
  EXPECT_EQ(result.pareto.front().step_time, result.ranked.front().prediction.step_time);
  for (std::size_t i = 1; i < result.pareto.size(); ++i) {
    EXPECT_GT(result.pareto[i].step_time, result.pareto[i - 1].step_time);
    EXPECT_LT(result.pareto[i].memory.total(), result.pareto[i - 1].memory.total());
  }
  for (const PlanCandidate& each : result.ranked) {
    const auto beats = [&](const ParetoPoint& point) {
      return point.step_time <= each.prediction.step_time && point.memory.total() <= each.prediction.memory.total();
    };
    EXPECT_TRUE(std::any_of(result.pareto.begin(), result.pareto.end(), beats)) << each.name;
  }
  const ParetoPoint& smallest = result.pareto.back();
  const auto again = predict_plan(bench.planning_case(), smallest.plan, {});
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->run.prediction.step_time, smallest.step_time);
  EXPECT_EQ(again->run.prediction.memory.total(), smallest.memory.total());
  EXPECT_TRUE(bench.plan().pareto.empty());

  PlannerOptions in_time;
  in_time.pareto = true;
  in_time.latency_limit = again->run.prediction.p99_latency - Nanoseconds(1);
  const PlanningResult faster = bench.plan(in_time);
  EXPECT_FALSE(faster.pareto.empty());
  for (const ParetoPoint& point : faster.pareto) {
    const auto predicted = predict_plan(bench.planning_case(), point.plan, {});
    ASSERT_TRUE(predicted) << predicted.error().message;
    EXPECT_LE(predicted->run.prediction.p99_latency, *in_time.latency_limit) << point.name;
  }
}

TEST(Planner, SaysWhatDoesNotFit) {
  PlannerBench bench = cnn_bench({});
  bench.base.limits.memory = Bytes{100};
  const Result<PlanningResult> result = plan_model_batch(bench.planning_case());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(result.error().message, StartsWith("no plan is possible: the plan needs "));
}

TEST(Planner, SaysTheLeastMemoryAndPlansWithIt) {
  PlannerBench bench = cnn_bench({});
  Bytes least{INT64_MAX};
  for (const PlanCandidate& each : bench.plan().ranked) least = std::min(least, each.prediction.memory.total());
  bench.base.limits.memory = Bytes{least.value - 1};
  const Result<PlanningResult> none = plan_model_batch(bench.planning_case());
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message, HasSubstr("plans takes is " + format_bytes(least)));
  bench.base.limits.memory = least;
  const Result<PlanningResult> one = plan_model_batch(bench.planning_case());
  ASSERT_TRUE(one.has_value()) << one.error().message;
  EXPECT_EQ(one->ranked.front().prediction.memory.total(), least);
}

/// A model of one op that takes 3 ms on a core, or 1 ms where `wide` is false; both halve on two cores.
PlannerBench unequal_pair() {
  const auto times = [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    return (call.op == "wide" ? 3'000'000 : 1'000'000) / call.threads;
  };
  ModelBuilder small("small");
  small.output(small.linear("narrow", small.input("x", {2, 8}), 4));
  ModelBuilder large("large");
  large.output(large.linear("wide", large.input("x", {2, 8}), 64));
  return {{large.finish().value(), small.finish().value()}, 2, times};
}

TEST(Planner, BalancesTheGainOfEachMemberWhereAsked) {
  // In turn on both cores: 1.5 ms, then 0.5 ms; the small one waits for the large one and gains 2 x 0.5 / 2.0 = 0.5x.
  // Side by side: 3 ms and 1 ms, 1x for both.
  const PlannerBench bench = unequal_pair();
  const PlanningResult fastest = bench.plan();
  EXPECT_EQ(fastest.ranked.front().name, kOneAfterAnother);
  EXPECT_EQ(fastest.ranked.front().prediction.p99_latency, Nanoseconds(2'000'000));
  EXPECT_EQ(fastest.ranked.front().prediction.member_latency,
            (std::vector{Nanoseconds(1'500'000), Nanoseconds(2'000'000)}));
  EXPECT_DOUBLE_EQ(fastest.ranked.front().least_gain, 0.5);
  const PlanningResult balanced = bench.plan({.objective = Objective::kBalancedGain});
  EXPECT_EQ(balanced.ranked.front().name, "concurrent x2");
  EXPECT_DOUBLE_EQ(balanced.ranked.front().least_gain, 1.0);
  EXPECT_THAT(balanced.ranked.front().explanation, StartsWith("least gain of a member 1.00x; "));
}

TEST(Planner, RefusesPlansOverTheLatencyLimit) {
  const PlannerBench bench = unequal_pair();
  const PlanningResult result =
      bench.plan({.objective = Objective::kBalancedGain, .latency_limit = Nanoseconds(2'500'000)});
  EXPECT_EQ(result.ranked.front().name, kOneAfterAnother);
  const auto refused = [](const RefusedCandidate& each) {
    return each.name == "concurrent x2" && each.reason == "its p99 latency is 3.00 ms, the limit is 2.50 ms";
  };
  EXPECT_TRUE(std::any_of(result.refused.begin(), result.refused.end(), refused)) << print(result);
  PlannerOptions impossible;
  impossible.latency_limit = 1_ms;
  const auto none = plan_model_batch(bench.planning_case(), impossible);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kDoesNotFit);
  EXPECT_THAT(none.error().message, StartsWith("no plan is possible: its p99 latency is "));
  EXPECT_THAT(none.error().message, EndsWith("; the shortest p99 latency of a plan is 2.00 ms"));
}

TEST(Planner, RanksByWhicheverObjectiveIsAsked) {
  PlannerBench bench = cnn_bench({.strided = 0.6});
  std::vector<ProfileRecord> records = bench.records();
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, 900'000));
  bench.set_records(records);
  bench.base.input.source = InputSource::kFolder;
  bench.device.step_overhead = 20_us;
  for (std::size_t i = 0; i < kObjectives; ++i) {
    const auto objective = static_cast<Objective>(i);
    const PlanningResult result = bench.plan({.objective = objective});
    const auto cost = [&](const PlanCandidate& each) {
      return objective_cost(objective, each.prediction, result.baseline.alone);
    };
    for (std::size_t k = 1; k < result.ranked.size(); ++k) {
      EXPECT_LE(cost(result.ranked[k - 1]), cost(result.ranked[k])) << to_string(objective);
    }
    EXPECT_EQ(objective_from(to_string(objective)).value(), objective);
  }
  EXPECT_FALSE(objective_from("speed").has_value());
}

}  // namespace
}  // namespace cohort
