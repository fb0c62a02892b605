#include "simulator/planner/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "models/builder.hpp"
#include "simulator/planner/choose.hpp"
#include "simulator/planner/input_settings.hpp"
#include "simulator/planner/variants.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::StartsWith;

std::string best_name(const PlannerBench& bench) {
  const PlanningResult result = bench.plan();
  return result.ranked.empty() ? "" : result.ranked.front().name;
}

TEST(Planner, FollowsRecordedCostsWhicheverWayTheyPoint) {
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0})), "concurrent x2");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.45, .beside = 1.0})), kOneAfterAnother);
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .strided = 0.1})),
            "concurrent x2 + strided batch (fc1, fc2)");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .dense = 0.2})),
            "concurrent x2 + dense convolution (conv1)");
  EXPECT_EQ(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .strided = 0.1, .dense = 0.2})),
            "concurrent x2 + dense convolution (conv1) + strided batch (fc1, fc2)");
  EXPECT_THAT(best_name(cnn_bench({.all_cores = 0.6, .beside = 1.0, .grouped = 0.1})),
              HasSubstr("grouped convolution (conv1, conv2)"));
}

TEST(Planner, FusesOfACpuOnlyWhatWasTimedFused) {
  const auto plan = [](bool timed) {
    const FakeTimes times = [timed](const FakeCall& call) -> std::optional<std::int64_t> {
      if (call.strategy == Strategy::kSerial) return 100'000;
      if (call.strategy == Strategy::kStridedBatch && timed) return 10'000 * call.width;
      return std::nullopt;
    };
    return PlannerBench({fake_mlp(8)}, 4, times).plan();
  };
  const auto fuses = [](const PlanningResult& result) {
    return std::any_of(result.ranked.begin(), result.ranked.end(),
                       [](const PlanCandidate& each) { return each.name.find("strided batch") != std::string::npos; });
  };
  EXPECT_TRUE(fuses(plan(true)));
  EXPECT_FALSE(fuses(plan(false))) << "width times the single op is a guess, and libraries may be many times slower";
}

TEST(Planner, FlipsTheChoiceWhenTwoRecordedTimesAreExchanged) {
  PlannerBench bench = cnn_bench({.beside = 1.0, .strided = 0.2});
  EXPECT_EQ(best_name(bench), "concurrent x2 + strided batch (fc1, fc2)");
  std::vector<ProfileRecord> records = bench.records();
  for (ProfileRecord& each : records) {
    if (each.strategy == "strided_batch") each.time *= 25;
  }
  bench.set_records(records);
  EXPECT_EQ(best_name(bench), "concurrent x2");
}

TEST(Planner, RanksTheFastestFirst) {
  const PlanningResult result = cnn_bench({}).plan();
  ASSERT_GT(result.ranked.size(), 5U);
  for (std::size_t i = 1; i < result.ranked.size(); ++i) {
    EXPECT_LE(result.ranked[i - 1].prediction.step_time, result.ranked[i].prediction.step_time);
  }
}

TEST(Planner, ListsAProgramOnceHoweverItIsComeBy) {
  // One core is never faster here, so "serial" and "serial on all cores" choose alike.
  const PlanningResult result = cnn_bench({.all_cores = 0.5}).plan();
  std::set<std::vector<std::pair<std::string, int>>> seen;
  for (const PlanCandidate& candidate : result.ranked) {
    if (candidate.plan.streams > 1) continue;
    std::vector<std::pair<std::string, int>> steps;
    for (const ResolvedStep& step : candidate.plan.resolved->steps) steps.emplace_back(step.task, step.threads);
    EXPECT_TRUE(seen.insert(steps).second) << candidate.name << " is there twice";
  }
}

TEST(Planner, MeasuresAgainstTheBestSingleModelPlan) {
  // All cores are slower than one here, so the baseline uses one.
  const PlanningResult slow_threads = cnn_bench({.all_cores = 1.3, .beside = 1.0}).plan();
  EXPECT_EQ(slow_threads.baseline.step_time, Nanoseconds(4 * 2'200'000));
  EXPECT_DOUBLE_EQ(slow_threads.ranked.front().speedup, 2.0);
  const PlanningResult fast_threads = cnn_bench({.all_cores = 0.5, .beside = 1.0}).plan();
  EXPECT_EQ(fast_threads.baseline.step_time, Nanoseconds(4 * 1'100'000));
  ASSERT_EQ(fast_threads.baseline.baselines.size(), 1U);
  EXPECT_EQ(fast_threads.baseline.baselines[0].members, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  for (const ResolvedStep& step : fast_threads.baseline.baselines[0].steps) EXPECT_EQ(step.threads, 2);
}

TEST(Planner, LeavesNoOpOnOneCoreThatIsSlowAmongOthersOnAll) {
  PlannerBench bench = cnn_bench({.all_cores = 0.6, .beside = 1.0});
  const std::vector<Op>& ops = bench.model(0).ops;
  const std::string last = signature_of(bench.model(0), ops.back());
  const std::string next_to_last = signature_of(bench.model(0), ops[ops.size() - 2]);
  std::vector<ProfileRecord> records = bench.records();
  for (ProfileRecord each : bench.records()) {
    if (each.width > 1 || each.signature.starts_with("Copy")) continue;
    const bool is_last = each.signature == last;
    const bool is_either = is_last || each.signature == next_to_last;
    each.state = ProfileState::kInModel;
    if (is_either && each.threads == 2) each.time *= 10;  // by themselves they are faster on one core
    records.push_back(each);
    if (!is_either || each.threads == 2 || each.neighbours > 0) continue;
    each.around = 2;
    if (is_last) each.time *= 100;
    records.push_back(each);
  }
  bench.set_records(records);
  const BaselinePrediction baseline = predict_baseline(bench.planning_case()).value();
  const std::vector<ResolvedStep>& steps = baseline.baselines.front().steps;
  EXPECT_EQ(steps.back().threads, 2);
  EXPECT_EQ(steps[steps.size() - 2].threads, 1);
  EXPECT_EQ(steps.front().threads, 2);
}

TEST(Planner, KeepsSeparateInputWhereTheUserAsksForIt) {
  PlannerBench bench = cnn_bench({.dense = 0.1});
  bench.base.input.sharing = InputSharing::kSeparate;
  const PlanningResult result = bench.plan();
  for (const PlanCandidate& candidate : result.ranked) {
    EXPECT_EQ(candidate.plan.input.sharing, InputSharing::kSeparate);
    EXPECT_THAT(candidate.name, testing::Not(HasSubstr("dense")));
  }
  ASSERT_FALSE(result.refused.empty());
  EXPECT_EQ(result.refused[0].name, "dense convolution");
  EXPECT_EQ(result.refused[0].reason,
            "op conv1 (Convolution) cannot be fused by dense_convolution: its members do not read the same input; use "
            "grouped_convolution");
}

TEST(Planner, NamesTheFirstAndTheLastOfManyFusedRuns) {
  const PlannerBench bench = cnn_bench({});
  const PlanningCase planning_case = bench.planning_case();
  CallTimes times(*planning_case.costs);
  const VariantMaker maker(planning_case, times, {});
  Variant variant;
  variant.rest = RestKind::kConcurrent;
  variant.streams = 2;
  variant.launch = planning_case.base->launch;
  variant.input = input_setting(*planning_case.base);
  for (const std::size_t op : {0U, 1U, 2U}) variant.fused.push_back({0, Strategy::kGroupedConvolution, {op}});
  const std::vector<Op>& ops = bench.model(0).ops;
  ASSERT_GE(ops.size(), 4U);
  EXPECT_EQ(maker.name_of(variant), fmt::format("concurrent x2 + grouped convolution ({}) + grouped convolution ({}) + "
                                                "grouped convolution ({})",
                                                ops[0].name, ops[1].name, ops[2].name));
  variant.fused.push_back({0, Strategy::kStridedBatch, {3}});
  variant.fused.push_back({0, Strategy::kGroupedConvolution, {3}});
  EXPECT_EQ(maker.name_of(variant),
            fmt::format("concurrent x2 + grouped convolution (4 runs, {} ... {}) + strided batch ({})", ops[0].name,
                        ops[3].name, ops[3].name));
}

TEST(Planner, WritesPlansThatLowerToWhatWasPredicted) {
  const PlannerBench bench = cnn_bench({.strided = 0.3, .dense = 0.4});
  const PlanningResult result = bench.plan();
  for (const PlanCandidate& candidate : result.ranked) {
    const Result<Plan> read = parse_plan(write_plan(candidate.plan));
    ASSERT_TRUE(read.has_value()) << candidate.name << ": " << read.error().message;
    const auto again = predict_plan(bench.planning_case(), *read, {});
    ASSERT_TRUE(again.has_value()) << candidate.name << ": " << again.error().message;
    EXPECT_EQ(again->run.prediction.step_time, candidate.prediction.step_time) << candidate.name;
    EXPECT_EQ(again->baseline, result.baseline.step_time) << candidate.name;
    EXPECT_EQ(again->run.trace.info.wall("baseline")->samples.front(), result.baseline.step_time);
  }
}

TEST(Planner, BalancesMembersThatDifferOverTheStreams) {
  // One large member and three small ones: the large one has a stream of its own.
  const auto times = [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    return call.op == "wide" ? 3'000'000 : 1'000'000;
  };
  ModelBuilder small("small");
  small.output(small.linear("narrow", small.input("x", {2, 8}), 4));
  ModelBuilder large("large");
  large.output(large.linear("wide", large.input("x", {2, 8}), 64));
  const Model one = small.finish().value();
  PlannerBench bench({large.finish().value(), one, one, one}, 4, times);
  const PlanningResult result = bench.plan();
  ASSERT_EQ(result.ranked.front().name, "concurrent x2") << print(result);
  EXPECT_EQ(result.ranked.front().plan.groups.front().streams, (std::vector<std::uint32_t>{0, 1, 1, 1}));
  EXPECT_EQ(result.ranked.front().prediction.step_time, Nanoseconds(3'000'000));
  EXPECT_EQ(result.baseline.baselines.size(), 2U);
}

TEST(Planner, FusesMembersOfOneStructureOnly) {
  PlannerBench bench({fake_mlp(6), fake_mlp(7)}, 8, times_of({.beside = 2.0, .strided = 0.1}));
  const PlanningResult result = bench.plan();
  EXPECT_EQ(result.ranked.front().name, "strided batch (fc1, fc2) + strided batch (fc1, fc2)") << print(result);
  ASSERT_EQ(result.ranked.front().plan.groups.size(), 2U);
  EXPECT_EQ(result.ranked.front().plan.groups[0].members, (std::vector<std::uint32_t>{0, 2, 4, 6}));
  EXPECT_EQ(result.ranked.front().plan.groups[1].members, (std::vector<std::uint32_t>{1, 3, 5, 7}));
}

TEST(Planner, NamesAnOpThatWasNotProfiled) {
  PlannerBench bench = cnn_bench({});
  std::vector<ProfileRecord> records;
  for (const ProfileRecord& each : bench.records()) {
    if (each.signature != signature_of(bench.model(0), bench.model(0).ops[1])) records.push_back(each);
  }
  bench.set_records(records);
  const Result<PlanningResult> result = plan_model_batch(bench.planning_case());
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message, StartsWith("baseline: 0/conv2: the profile has no record of "));
}

TEST(Planner, RefusesNoMembersAndTooFewModels) {
  PlannerBench bench = cnn_bench({});
  bench.base.members.pop_back();
  EXPECT_EQ(plan_model_batch(bench.planning_case()).error().message, "4 models were given for 3 members");
  bench.base.members.clear();
  EXPECT_EQ(plan_model_batch(bench.planning_case()).error().message,
            "members is empty: a plan runs at least one model");
}

TEST(Planner, PlansASingleMember) {
  const PlanningResult result = cnn_bench({}, 1).plan();
  EXPECT_EQ(result.ranked.front().name, kOneAfterAnother);
  EXPECT_DOUBLE_EQ(result.ranked.front().speedup, 1.0);
}

TEST(Planner, StopsWhenItIsCancelled) {
  CancelToken cancel;
  cancel.cancel();
  const PlannerBench bench = cnn_bench({});
  PlannerOptions options;
  options.cancel = &cancel;
  EXPECT_EQ(plan_model_batch(bench.planning_case(), options).error().code, ErrorCode::kInterrupted);
}

TEST(Planner, SaysTheSameEveryTime) {
  EXPECT_EQ(print(cnn_bench({.strided = 0.5}).plan(), 100), print(cnn_bench({.strided = 0.5}).plan(), 100));
}

TEST(Planner, ScreensWhatItDoesNotSimulateByABound) {
  const PlannerBench bench = cnn_bench({.beside = 1.0, .strided = 0.1, .dense = 0.2});
  const PlanningResult few = bench.plan({.most_simulated = 3});
  EXPECT_EQ(few.ranked.front().name, "concurrent x2 + dense convolution (conv1) + strided batch (fc1, fc2)");
  EXPECT_GT(few.screened.size(), 5U);
  EXPECT_THAT(print(few), HasSubstr("not simulated: "));
  const PlanningResult all = bench.plan();
  EXPECT_LT(few.ranked.size(), all.ranked.size());
  EXPECT_TRUE(all.screened.empty());
  std::map<std::string, Nanoseconds> times;
  for (const PlanCandidate& each : all.ranked) times[each.name] = each.prediction.step_time;
  for (const ScreenedCandidate& each : few.screened) {
    EXPECT_GT(each.bound, 0_ns) << each.name;
    if (const auto found = times.find(each.name); found != times.end()) {
      EXPECT_LE(each.bound, found->second) << each.name;
      EXPECT_EQ(each.cannot_win, each.bound >= few.ranked.front().prediction.step_time) << each.name;
    }
  }
}

TEST(Planner, LeavesOutWhatABoundRulesOutOnceEnoughIsSimulated) {
  const PlannerBench bench = cnn_bench({.beside = 1.0, .strided = 0.1, .dense = 0.2});
  const PlanningResult result = bench.plan({.least_simulated = 1});
  EXPECT_EQ(result.ranked.front().name, bench.plan().ranked.front().name);
  EXPECT_FALSE(result.screened.empty());
  for (const ScreenedCandidate& each : result.screened) EXPECT_TRUE(each.cannot_win) << each.name;
}

TEST(Planner, KeepsTheBestSoFarWhenItIsCancelledMidway) {
  CancelToken cancel;
  PlannerOptions options;
  options.cancel = &cancel;
  std::size_t seen = 0;
  options.progress = [&](std::size_t done, std::size_t of) {
    EXPECT_LE(done, of);
    seen = done;
    if (done == 3) cancel.cancel();
  };
  const PlannerBench bench = cnn_bench({});
  const PlanningResult result = bench.plan(options);
  EXPECT_EQ(seen, 3U);
  EXPECT_TRUE(result.interrupted);
  EXPECT_THAT(print(result), HasSubstr("interrupted: the best of what was looked at by then"));
  ASSERT_GE(result.ranked.size(), 1U);
  EXPECT_LE(result.ranked.size(), 3U);
  EXPECT_TRUE(result.ranked.front().plan.resolved.has_value());
  EXPECT_TRUE(predict_plan(bench.planning_case(), result.ranked.front().plan, {}).has_value());
}

TEST(Planner, PlansSixteenMembersOfTwentyOps) {
  ModelBuilder builder("deep");
  TensorId x = builder.input("x", {2, 8});
  for (int i = 0; i < 20; ++i) x = builder.linear("fc" + std::to_string(i), x, 8 + i % 3);
  builder.output(x);
  PlannerBench bench({builder.finish().value()}, 16, times_of({.beside = 1.0, .strided = 0.3}));
  EXPECT_EQ(best_name(bench), "concurrent x2 + strided batch (fc0 ... fc19)");
}

TEST(PlanningTable, SaysWhereNoPlanGains) {
  PlanningResult result;
  result.ranked.resize(2);
  result.ranked[0].speedup = 0.99;
  result.ranked[1].speedup = 0.8;
  constexpr std::string_view kNone = "none gains: run these members one after another\n";
  EXPECT_NE(print(result).find(kNone), std::string::npos) << print(result);
  result.ranked[0].speedup = 1.01;
  EXPECT_EQ(print(result).find(kNone), std::string::npos) << print(result);
  result.ranked[0].name = kOneAfterAnother;
  result.ranked[0].speedup = 1;
  EXPECT_EQ(print(result).find(kNone), 0U) << "it is said first";
}

TEST(Planner, RanksMembersOneAfterAnotherWithTheRest) {
  const PlanningResult result = cnn_bench({.all_cores = 0.45, .beside = 1.4, .strided = 1.3}).plan();
  EXPECT_EQ(result.ranked.front().name, kOneAfterAnother);
  EXPECT_DOUBLE_EQ(result.ranked.front().speedup, 1.0);
  EXPECT_EQ(result.ranked.front().prediction.step_time, result.baseline.step_time);
  for (const PlanCandidate& each : result.ranked) EXPECT_LE(each.speedup, 1.0) << each.name;
}

TEST(Planner, PlansInAnotherPrecisionAsItDoesInFloat32) {
  const Prices prices{.strided = 0.3, .grouped = 0.4};
  const PlannerBench single = cnn_bench(prices, 8);
  PlannerBench half = cnn_bench(prices, 8);
  std::vector<ProfileRecord> records = half.records();
  for (ProfileRecord& each : records) {
    if (!each.signature.starts_with("Copy"))
      each.signature = signature_in(Precision::kFloat16, std::move(each.signature));
  }
  half.base.precision = Precision::kFloat16;
  half.set_records(records);
  const PlanningResult expected = single.plan();
  const PlanningResult result = half.plan();
  ASSERT_EQ(result.ranked.size(), expected.ranked.size()) << print(result) << print(expected);
  for (std::size_t i = 0; i < expected.ranked.size(); ++i) {
    EXPECT_EQ(result.ranked[i].name, expected.ranked[i].name);
    // Input and outputs are converted, which takes a moment.
    EXPECT_NEAR(result.ranked[i].speedup, expected.ranked[i].speedup, 0.01) << expected.ranked[i].name;
  }
}

}  // namespace
}  // namespace cohort
