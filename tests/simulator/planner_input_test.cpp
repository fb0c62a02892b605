// What the planner looks for beside strategies: decode workers, buffers and the minibatch; and how it is interrupted.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/planner/variants.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::EndsWith;
using testing::HasSubstr;

/// Four members that compute 2.2 ms each on a core of two, on images that take `decode` each; minibatches of 2.
PlannerBench image_bench(Nanoseconds decode) {
  PlannerBench bench = cnn_bench({.all_cores = 1.0, .beside = 1.0});
  std::vector<ProfileRecord> records = bench.records();
  records.push_back(record(std::string(kInputDecodeRecord), Strategy::kSerial, 1, 1, decode.count()));
  bench.set_records(records);
  bench.base.input.source = InputSource::kFolder;
  bench.base.input.decode_workers = 1;
  bench.base.input.buffers = 1;
  return bench;
}

TEST(PlannerInput, LooksForDecodeWorkersAndBuffersWhereAsked) {
  const PlannerBench bench = image_bench(2_ms);
  // One buffer, one worker: |4 ms of decoding|4.4 ms on two streams|.
  const PlanningResult fixed = bench.plan();
  EXPECT_NEAR(seconds(fixed.ranked.front().prediction.step_time), 8.4e-3, 1e-7);
  EXPECT_EQ(fixed.ranked.front().plan.input.buffers, 1);
  EXPECT_EQ(fixed.ranked.front().plan.input.decode_workers, 1);
  // 12.8 ms of work on two cores.
  PlannerOptions options;
  options.search_decode_workers = options.search_buffers = true;
  const PlanningResult searched = bench.plan(options);
  EXPECT_NEAR(seconds(searched.ranked.front().prediction.step_time), 6.4e-3, 1e-7) << print(searched);
  EXPECT_THAT(searched.ranked.front().name, HasSubstr("concurrent x2, "));
  EXPECT_NE(input_setting(searched.ranked.front().plan), input_setting(bench.base));
  EXPECT_LT(searched.baseline.step_time, fixed.baseline.step_time) << "members alone have the choice, too";
}

TEST(PlannerInput, HoldsEveryPlanAgainstMembersAloneWithTheInputThatSuitsThemBest) {
  PlannerOptions options;
  options.search_decode_workers = options.search_buffers = true;
  const PlannerBench poor = image_bench(2_ms);
  const PlanningResult found = poor.plan(options);
  EXPECT_LT(found.baseline.step_time, poor.plan().baseline.step_time) << "members alone gain from other settings, too";
  bool differ = false;
  for (const PlanCandidate& each : found.ranked) {
    EXPECT_DOUBLE_EQ(each.speedup, seconds(found.baseline.step_time) / seconds(each.prediction.step_time));
    const auto again = predict_plan(poor.planning_case(), each.plan, {});
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->baseline, found.baseline.step_time) << each.name << ": as it will be measured";
    differ = differ || input_setting(each.plan) != input_setting(found.ranked.front().plan);
  }
  EXPECT_TRUE(differ) << "one baseline, though plans make their input in several ways";
  EXPECT_TRUE(std::is_sorted(found.ranked.begin(), found.ranked.end(), [](const auto& a, const auto& b) {
    return a.speedup > b.speedup;
  })) << "the faster, the greater the speedup";
  // No setting that was not looked for makes members alone faster.
  for (const int workers : {1, 2}) {
    for (const int buffers : {1, 2, 3, 4}) {
      PlannerBench other = image_bench(2_ms);
      other.base.input.decode_workers = workers;
      other.base.input.buffers = buffers;
      EXPECT_GE(other.plan().baseline.step_time, found.baseline.step_time) << workers << ", " << buffers;
    }
  }
}

TEST(PlannerInput, LooksOnlyForWhatIsNotGiven) {
  PlannerOptions options;
  options.search_decode_workers = true;
  for (const PlanCandidate& each : image_bench(2_ms).plan(options).ranked) EXPECT_EQ(each.plan.input.buffers, 1);
  PlannerBench made_up = cnn_bench({});
  options.search_buffers = true;
  for (const PlanCandidate& each : made_up.plan(options).ranked)
    EXPECT_EQ(input_setting(each.plan), input_setting(made_up.base)) << "made-up input is not decoded";
}

TEST(PlannerInput, TakesOneBufferWhereMemoryHasNoRoomForMore) {
  PlannerBench bench = image_bench(1_ms);
  bench.base.input.buffers = 2;
  Bytes least{INT64_MAX};
  for (const PlanCandidate& each : bench.plan().ranked) least = std::min(least, each.prediction.memory.total());
  bench.base.limits.memory = least - Bytes{1};
  EXPECT_EQ(plan_model_batch(bench.planning_case()).error().code, ErrorCode::kDoesNotFit);
  PlannerOptions options;
  options.search_buffers = true;
  const PlanningResult result = bench.plan(options);
  ASSERT_FALSE(result.ranked.empty());
  EXPECT_EQ(result.ranked.front().plan.input.buffers, 1);
  EXPECT_THAT(result.ranked.front().name, EndsWith(", 1 buffer"));
}

TEST(PlannerInput, AttributionAddsUpWithOtherInputSettings) {
  const PlannerBench bench = image_bench(2_ms);
  PlannerOptions options{.most_explained = 1000};
  options.search_decode_workers = options.search_buffers = true;
  const PlanningResult result = bench.plan(options);
  for (const PlanCandidate& each : result.ranked) {
    Nanoseconds sum{};
    for (const Nanoseconds saved : each.attribution.saved) sum += saved;
    EXPECT_EQ(sum, result.baseline.step_time - each.prediction.step_time) << each.name;
  }
}

/// Cancels at a given call and counts those that come after it.
class CancellingCatalog final : public OpCatalog {
 public:
  CancellingCatalog(const OpCatalog& catalog, std::size_t at) : catalog_(catalog), at_(at) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    if (cancel.cancelled()) ++late;
    if (++calls == at_) cancel.cancel();
    return catalog_.alternatives(call, threads);
  }
  bool accepts_strides(const OpCall& call) const override { return catalog_.accepts_strides(call); }
  int cores() const override { return catalog_.cores(); }

  mutable CancelToken cancel;
  mutable std::size_t calls = 0;
  mutable std::size_t late = 0;

 private:
  const OpCatalog& catalog_;
  std::size_t at_;
};

TEST(PlannerInterrupted, EndsWithinACandidateAndExplainsNoMore) {
  const PlannerBench bench = cnn_bench({.strided = 0.3});
  std::size_t plans = 0;
  const auto plan_until = [&](const CancellingCatalog& catalog, std::size_t plan = 0) {
    PlanningCase planning_case = bench.planning_case();
    planning_case.catalog = &catalog;
    PlannerOptions options;
    options.cancel = &catalog.cancel;
    options.progress = [&](std::size_t done, std::size_t /*of*/) {
      plans = done;
      if (done == plan) catalog.cancel.cancel();
    };
    return plan_model_batch(planning_case, options);
  };
  const CancellingCatalog never(*bench.planning_case().catalog, 0);
  ASSERT_TRUE(plan_until(never));
  const std::size_t all = plans;
  // Within a candidate that makes a call that none before it makes; and when the last one has been tried.
  for (const auto& [call, plan] : {std::pair{never.calls - 1, std::size_t{0}}, {std::size_t{0}, all}}) {
    const CancellingCatalog catalog(*bench.planning_case().catalog, call);
    const auto result = plan_until(catalog, plan);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->interrupted);
    EXPECT_EQ(catalog.late, 0U) << "of " << never.calls << ", cancelled at " << call;
    EXPECT_TRUE(result->ranked.front().plan.resolved.has_value());
    EXPECT_FALSE(result->ranked.front().explained);
  }
  const CancellingCatalog early(*bench.planning_case().catalog, 1);
  const auto nothing = plan_until(early);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(early.late, 0U);
}

}  // namespace
}  // namespace cohort
