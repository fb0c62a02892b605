// The choice among several cases: minibatches, numbers of members, and pairs of both.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "models/builder.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// The same members at minibatches of 2 and 8; a step at 8 takes `longer` times one at 2.
class TwoMinibatches {
 public:
  explicit TwoMinibatches(double longer)
      : two_(cnn_bench({.beside = 1.0})), eight_({fake_cnn(8)}, 4, [longer](const FakeCall& call) {
          const auto time = times_of({.beside = 1.0})(call);
          return time ? std::optional(static_cast<std::int64_t>(static_cast<double>(*time) * longer)) : std::nullopt;
        }) {
    for (Member& member : eight_.base.members) member.source.minibatch = 8;
  }
  [[nodiscard]] PlanningResult plan(const PlannerOptions& options = {}) const {
    const std::vector<PlanningCase> cases{two_.planning_case(), eight_.planning_case()};
    auto result = plan_best_of(cases, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  PlannerBench two_, eight_;
};

TEST(PlannerMinibatch, IsTheOneWithTheMostSamplesASecond) {
  const PlanningResult large = TwoMinibatches(3).plan();
  EXPECT_EQ(large.ranked.front().plan.members[0].source.minibatch, 8);
  EXPECT_EQ(large.ranked.front().planning_case, 1U);
  EXPECT_THAT(large.ranked.front().name, EndsWith(", minibatch 8"));
  EXPECT_THAT(large.ranked.front().explanation, HasSubstr(" samples/s; "));
  const PlanningResult small = TwoMinibatches(5).plan();
  EXPECT_EQ(small.ranked.front().plan.members[0].source.minibatch, 2);
  EXPECT_EQ(small.ranked.front().planning_case, 0U);
  for (const PlanningResult* result : {&large, &small}) {
    ASSERT_EQ(result->cases.size(), 2U);
    EXPECT_EQ(result->cases[0].name, "minibatch 2");
    for (std::size_t i = 1; i < result->ranked.size(); ++i) {
      EXPECT_GE(result->ranked[i - 1].prediction.samples_per_second, result->ranked[i].prediction.samples_per_second);
    }
    EXPECT_THAT(print(*result), HasSubstr("one after another, minibatch 8, "));
  }
}

TEST(PlannerMinibatch, IsTheOneThatKeepsTheLatencyLimit) {
  // A step takes 4.4 ms at 2 and 13.2 ms at 8, with more samples a second.
  PlannerOptions options;
  options.latency_limit = 5_ms;
  const PlanningResult result = TwoMinibatches(3).plan(options);
  EXPECT_EQ(result.ranked.front().plan.members[0].source.minibatch, 2);
  const auto refused = [](const RefusedCandidate& each) { return each.name == "minibatch 8"; };
  EXPECT_TRUE(std::any_of(result.refused.begin(), result.refused.end(), refused)) << print(result);
  EXPECT_EQ(result.cases.size(), 1U);
}

TEST(PlannerMinibatch, RulesOutPlansByWhatAnotherMinibatchPromises) {
  // At 2 no plan reaches half of the samples a second that are there at 8.
  const PlanningResult result = TwoMinibatches(1).plan({.least_simulated = 1});
  const auto ruled_out = std::count_if(result.screened.begin(), result.screened.end(), [](const auto& each) {
    return each.cannot_win && each.name.ends_with(", minibatch 2");
  });
  EXPECT_GT(ruled_out, 5) << explain(result, 100);
}

/// 1, 2, 4 and 8 of the same members on two cores: each takes 2.4 ms on one of them, 0.9 of it on both.
class NumbersOfMembers {
 public:
  explicit NumbersOfMembers(double strided = 1) {
    for (const std::size_t members : {1U, 2U, 4U, 8U})
      benches_.push_back(cnn_bench({.all_cores = 0.9, .beside = 1.0, .strided = strided}, members));
  }
  void limit_memory(Bytes limit) {
    for (PlannerBench& bench : benches_) bench.base.limits.memory = limit;
  }
  [[nodiscard]] Bytes least_memory_of_four() const {
    Bytes least{INT64_MAX};
    for (const PlanCandidate& each : benches_[2].plan({.least_simulated = 1000, .most_simulated = 1000}).ranked)
      least = std::min(least, each.prediction.memory.total());
    return least;
  }
  [[nodiscard]] Result<PlanningResult> plan(const PlannerOptions& options = {}) const {
    std::vector<PlanningCase> cases;
    for (const PlannerBench& bench : benches_) cases.push_back(bench.planning_case());
    return plan_best_of(cases, options);
  }

 private:
  std::vector<PlannerBench> benches_;
};

TEST(PlannerMembers, AreTheFewestWhereMoreGainNothing) {
  const auto result = NumbersOfMembers().plan();
  ASSERT_TRUE(result) << result.error().message;
  const PlanCandidate& best = result->ranked.front();
  EXPECT_EQ(best.plan.members.size(), 2U) << "they fill both cores";
  EXPECT_EQ(best.planning_case, 1U);
  EXPECT_THAT(best.name, EndsWith(", 2 members"));
  EXPECT_THAT(best.explanation, HasSubstr(" samples/s; "));
  EXPECT_EQ(result->baseline.alone.size(), 2U);
  EXPECT_NEAR(best.speedup, seconds(result->baseline.step_time) / seconds(best.prediction.step_time), 1e-9);
  ASSERT_EQ(result->cases.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const CaseOutcome& each = result->cases[i];
    EXPECT_EQ(each.members, std::size_t{1} << i);
    EXPECT_EQ(each.baseline, result->cases[0].baseline * static_cast<std::int64_t>(each.members));
    EXPECT_EQ(result->ranked[each.best].plan.members.size(), each.members);
    EXPECT_EQ(result->ranked[each.best].planning_case, i);
  }
  EXPECT_EQ(result->cases[1].best, 0U);
  EXPECT_EQ(result->cases[0].name, "1 member");
  EXPECT_THAT(print(*result), HasSubstr("one after another, 8 members, "));
  EXPECT_THAT(explain(*result), HasSubstr("best, rank 1: "));
}

TEST(PlannerMembers, AreTheFewestOfThoseThatAreAsGood) {
  // From 4 on each stream fuses its members' products, 10% of a tenth of a step.
  const auto result = NumbersOfMembers(0.9).plan();
  ASSERT_TRUE(result) << result.error().message;
  const auto rate = [&](std::size_t place) { return result->ranked[place].prediction.samples_per_second; };
  EXPECT_EQ(result->ranked.front().plan.members.size(), 2U) << print(*result);
  EXPECT_THAT(result->ranked.front().explanation, StartsWith("fewest members within 2% of the best; "));
  EXPECT_LT(rate(0), rate(1));
  EXPECT_GE(rate(0) * (1 + kAsGood), rate(1));
  EXPECT_THAT(result->ranked[1].explanation, Not(HasSubstr("fewest")));
  for (std::size_t i = 2; i < result->ranked.size(); ++i) EXPECT_GE(rate(i - 1), rate(i));
}

TEST(PlannerMembers, AreMoreWhereThatGains) {
  const auto result = NumbersOfMembers(0.1).plan();
  ASSERT_TRUE(result) << result.error().message;
  // Two on each core have products to fuse; more of them gain nothing more.
  EXPECT_EQ(result->ranked.front().plan.members.size(), 4U) << print(*result);
}

TEST(PlannerMembers, AreAsManyAsHaveRoomInMemory) {
  NumbersOfMembers numbers(0.1);
  numbers.limit_memory(numbers.least_memory_of_four() - Bytes{1});
  const auto result = numbers.plan();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ranked.front().plan.members.size(), 1U) << "there is room for 2 in turn, which gain nothing";
  EXPECT_EQ(result->cases.size(), 2U);
  const auto reason_of = [&](std::string_view name) {
    const auto found = std::find_if(result->refused.begin(), result->refused.end(),
                                    [&](const RefusedCandidate& each) { return each.name == name; });
    return found == result->refused.end() ? "" : found->reason;
  };
  EXPECT_THAT(reason_of("4 members"), HasSubstr("limits.memory_bytes is "));
  EXPECT_EQ(reason_of("8 members"), "4 members do not fit");
  numbers.limit_memory(Bytes{100});
  EXPECT_EQ(numbers.plan().error().code, ErrorCode::kDoesNotFit);
}

TEST(PlannerMembers, AreAsManyAsKeepTheLatencyLimit) {
  // On both cores 2 members take 2.4 ms, 4 twice and 8 four times as long, less what fusion saves.
  const auto result = NumbersOfMembers(0.5).plan({.latency_limit = 5_ms});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ranked.front().plan.members.size(), 4U) << print(*result);
  EXPECT_LE(result->ranked.front().prediction.p99_latency, 5_ms);
  EXPECT_EQ(result->cases.size(), 3U);
}

TEST(PlannerMembers, AreOneWhereLatencyAloneCounts) {
  const auto result = NumbersOfMembers().plan({.objective = Objective::kP99Latency});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->ranked.front().plan.members.size(), 1U) << print(*result);
}

/// 1, 2 and 4 of the same members at minibatches of 2 and 8, on two cores.
class Pairs {
 public:
  /// `make`: the model at a minibatch, which takes `at_two` or `at_eight`.
  Pairs(Model (*make)(std::int64_t minibatch), const FakeTimes& at_two, const FakeTimes& at_eight) {
    for (const std::size_t members : {1U, 2U, 4U}) {
      for (const std::int64_t minibatch : {2, 8}) {
        benches_.emplace_back(std::vector{make(minibatch)}, members, minibatch == 8 ? at_eight : at_two);
        for (Member& member : benches_.back().base.members) member.source.minibatch = minibatch;
      }
    }
  }
  void limit_memory(Bytes limit) {
    for (PlannerBench& bench : benches_) bench.base.limits.memory = limit;
  }
  void separate_input() {
    for (PlannerBench& bench : benches_) bench.base.input.sharing = InputSharing::kSeparate;
  }
  /// Of any plan of case `i`.
  [[nodiscard]] Bytes least_memory(std::size_t i) const {
    Bytes least{INT64_MAX};
    for (const PlanCandidate& each : benches_[i].plan({.least_simulated = 1000, .most_simulated = 1000}).ranked)
      least = std::min(least, each.prediction.memory.total());
    return least;
  }
  [[nodiscard]] PlanningResult plan(const PlannerOptions& options = {}) const {
    std::vector<PlanningCase> cases;
    for (const PlannerBench& bench : benches_) cases.push_back(bench.planning_case());
    auto result = plan_best_of(cases, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : PlanningResult{};
  }

 private:
  std::vector<PlannerBench> benches_;
};

std::vector<std::string> case_names(const std::vector<CaseOutcome>& cases) {
  std::vector<std::string> names;
  for (const CaseOutcome& each : cases) names.push_back(each.name);
  return names;
}

std::string reason_of(const PlanningResult& result, std::string_view name) {
  const auto found = std::find_if(result.refused.begin(), result.refused.end(),
                                  [&](const RefusedCandidate& each) { return each.name == name; });
  return found == result.refused.end() ? "" : found->reason;
}

/// Two members fill both cores, and fusing gains nothing. Ops take so many times as long as usual.
FakeTimes two_fill_both_cores(double longer) {
  return [longer](const FakeCall& call) -> std::optional<std::int64_t> {
    const auto time = times_of({.all_cores = 0.9, .beside = 1.0})(call);
    return time ? std::optional(static_cast<std::int64_t>(static_cast<double>(*time) * longer)) : std::nullopt;
  };
}

TEST(PlannerPairs, AreTheOneWithTheMostSamplesASecond) {
  // Twice the time for four times the samples: the larger minibatch; and two members fill both cores.
  const PlanningResult result = Pairs(fake_cnn, two_fill_both_cores(1), two_fill_both_cores(2)).plan();
  const PlanCandidate& best = result.ranked.front();
  EXPECT_THAT(best.name, EndsWith(", 2 members, minibatch 8")) << print(result);
  EXPECT_EQ(best.plan.members.size(), 2U);
  EXPECT_EQ(best.plan.members[0].source.minibatch, 8);
  EXPECT_EQ(best.planning_case, 3U);
  EXPECT_THAT(case_names(result.cases),
              ElementsAre("1 member, minibatch 2", "1 member, minibatch 8", "2 members, minibatch 2",
                          "2 members, minibatch 8", "4 members, minibatch 2", "4 members, minibatch 8"));
  for (std::size_t i = 0; i < result.cases.size(); ++i) {
    const CaseOutcome& each = result.cases[i];
    EXPECT_EQ(each.members, std::size_t{1} << (i / 2));
    EXPECT_EQ(each.minibatch, i % 2 == 0 ? 2 : 8);
    EXPECT_EQ(result.ranked[each.best].planning_case, i);
    EXPECT_EQ(each.baseline, result.cases[i % 2].baseline * static_cast<std::int64_t>(each.members));
  }
  EXPECT_NEAR(best.speedup, seconds(result.cases[3].baseline) / seconds(best.prediction.step_time), 1e-9);
  EXPECT_THAT(print(result), HasSubstr("one after another, 4 members, minibatch 8, "));
}

TEST(PlannerPairs, AreTheOneWithTheFewestSamplesOfThoseThatAreAsGood) {
  // Four times the time for four times the samples gains nothing.
  const PlanningResult result = Pairs(fake_cnn, two_fill_both_cores(1), two_fill_both_cores(4)).plan();
  EXPECT_THAT(result.ranked.front().name, EndsWith(", 2 members, minibatch 2")) << print(result);
}

Model two_layers(std::int64_t minibatch) {
  ModelBuilder builder("two_layers");
  const TensorId x = builder.linear("fc1", builder.input("x", {minibatch, 8}), 16);
  builder.output(builder.linear("fc2", x, 8));
  return builder.finish().value();
}

TEST(PlannerPairs, AreTheOneWithTheFewestMembersOfAsManySamples) {
  // On both cores a member takes 100 us at 2 and 200 us at 8, and fused ones 198 us at 2, however many. So 8 samples
  // take next to the same time either way, and nothing with fewer samples is near it.
  const auto op_time = [](double alone) -> FakeTimes {
    return [alone](const FakeCall& call) -> std::optional<std::int64_t> {
      const bool fused = call.strategy == Strategy::kStridedBatch && alone == 100'000;
      if (!fused && call.strategy != Strategy::kSerial) return std::nullopt;
      return static_cast<std::int64_t>((fused ? 197'600 + 100 * call.width : alone) / (call.threads > 1 ? 2 : 1));
    };
  };
  Pairs pairs(two_layers, op_time(100'000), op_time(200'000));
  pairs.separate_input();  // of a shared one the first layer would be recorded in another form
  const PlanningResult result = pairs.plan();
  EXPECT_THAT(result.ranked.front().name, EndsWith(", 1 member, minibatch 8")) << print(result);
  EXPECT_THAT(result.ranked[1].name, EndsWith(", 4 members, minibatch 2")) << print(result);
  EXPECT_THAT(result.ranked.front().explanation, StartsWith("fewest samples a step within 2% of the best; "));
}

TEST(PlannerPairs, ThatDoNotFitRuleOutMoreMembersAtNoSmallerMinibatch) {
  Pairs pairs(fake_cnn, two_fill_both_cores(1), two_fill_both_cores(2));
  const Bytes two_at_eight = pairs.least_memory(3);
  ASSERT_LT(pairs.least_memory(4), two_at_eight) << "4 members at 2 take less";
  pairs.limit_memory(two_at_eight - Bytes{1});
  const PlanningResult result = pairs.plan();
  EXPECT_THAT(reason_of(result, "2 members, minibatch 8"), HasSubstr("limits.memory_bytes is "));
  EXPECT_EQ(reason_of(result, "4 members, minibatch 8"), "2 members, minibatch 8 do not fit");
  EXPECT_THAT(case_names(result.cases), ElementsAre("1 member, minibatch 2", "1 member, minibatch 8",
                                                    "2 members, minibatch 2", "4 members, minibatch 2"));
  EXPECT_EQ(result.ranked.front().plan.members.size(), 1U)
      << "8 samples in 1.8 times as long as 4 take; " << print(result);

  pairs.limit_memory(pairs.least_memory(4) - Bytes{1});
  const PlanningResult fewer = pairs.plan();
  EXPECT_THAT(reason_of(fewer, "4 members, minibatch 2"), HasSubstr("limits.memory_bytes is "));
}

TEST(PlannerPairs, RefuseOneReasonOnceAndNameAllOfThem) {
  Pairs pairs(fake_cnn, times_of({}), times_of({}));
  pairs.separate_input();
  EXPECT_EQ(reason_of(pairs.plan(),
                      "dense convolution, 2 members, minibatch 8; 2 members, minibatch 2; 4 members, minibatch "
                      "8; 4 members, minibatch 2"),
            "op conv1 (Convolution) cannot be fused by dense_convolution: its members do not read the same input; use "
            "grouped_convolution");
}

TEST(PlannerPairs, SayNothingOfStrategiesForWhichTheModelsHaveNoOp) {
  EXPECT_THAT(Pairs(two_layers, times_of({}), times_of({})).plan().refused, testing::IsEmpty());
}

}  // namespace
}  // namespace cohort
