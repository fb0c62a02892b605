// Ops that are fused because they were asked for.

#include "simulator/planner/fuse_ops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/builder.hpp"
#include "tests/simulator/planner_bench.hpp"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// x -> conv1 -> pool1 -> conv2 -> norm -> flatten -> fc1 -> fc2.
Model network(std::int64_t outputs = 8) {
  ModelBuilder builder("network");
  TensorId x = builder.input("x", {2, 3, 8, 8});
  x = builder.convolution("conv1", x, {.channels = 4, .kernel = 3});
  x = builder.max_pool("pool1", x, 2, 2);
  x = builder.convolution("conv2", x, {.channels = 4, .kernel = 3});
  x = builder.add("norm", LocalResponseNormalization{}, {x});
  x = builder.flatten("flatten", x);
  x = builder.linear("fc1", x, 16);
  builder.output(builder.linear("fc2", x, outputs));
  return builder.finish().value();
}

/// "strided_batch fc1 fc2", by group.
std::vector<std::string> groups_of(const Result<Plan>& plan) {
  EXPECT_TRUE(plan) << plan.error().message;
  std::vector<std::string> groups;
  if (!plan) return groups;
  EXPECT_TRUE(validate(*plan));
  for (const Group& group : plan->groups) {
    groups.emplace_back(to_string(group.strategy));
    for (const std::string& op : group.ops) groups.back() += " " + op;
  }
  return groups;
}

class FuseOps : public testing::Test {
 protected:
  explicit FuseOps(const Prices& prices = {}) : bench_({network()}, 4, times(prices)) {}
  void set(const Prices& prices) { bench_ = PlannerBench({network()}, 4, times(prices)); }

  Result<Plan> fuse(const std::vector<std::string>& patterns, int streams = 1) {
    return plan_with_fused_ops(bench_.planning_case(), rest(streams), streams, patterns);
  }
  FusionChoice choose(int streams = 1) {
    auto choice = choose_fusion(bench_.planning_case(), rest(streams), streams);
    EXPECT_TRUE(choice) << choice.error().message;
    return choice ? *std::move(choice) : FusionChoice{};
  }
  [[nodiscard]] Nanoseconds step_time(const Plan& plan) const {
    const auto predicted = predict_plan(bench_.planning_case(), plan, {});
    EXPECT_TRUE(predicted) << predicted.error().message;
    return predicted ? predicted->run.prediction.step_time : Nanoseconds(0);
  }
  std::string refusal(const std::string& pattern) {
    const Result<Plan> plan = fuse({pattern});
    EXPECT_FALSE(plan);
    if (plan) return "";
    EXPECT_EQ(plan.error().code, ErrorCode::kNegativeAnswer);
    return plan.error().message;
  }

  /// Where its result goes into a stack, a reshape is a copy, which takes next to nothing.
  static FakeTimes times(const Prices& prices) {
    return [prices](const FakeCall& call) -> std::optional<std::int64_t> {
      if (call.op != "flatten") return times_of(prices)(call);
      return call.strategy == Strategy::kSerial ? std::optional(1'000) : std::nullopt;
    };
  }
  static RestKind rest(int streams) { return streams > 1 ? RestKind::kConcurrent : RestKind::kSerialBest; }

  PlannerBench bench_;
};

TEST_F(FuseOps, RunsNamedOpsTogetherAndOthersAsTheyWere) {
  EXPECT_THAT(groups_of(fuse({"fc*"})), ElementsAre("strided_batch fc1 fc2", "serial"));
  EXPECT_THAT(groups_of(fuse({"fc2", "conv2"})),
              ElementsAre("grouped_convolution conv2", "strided_batch fc2", "serial"));
  EXPECT_THAT(groups_of(fuse({"fc1"}, 2)), ElementsAre("strided_batch fc1", "strided_batch fc1", "concurrent"));
  const auto predicted = predict_plan(bench_.planning_case(), *fuse({"fc*"}), {});
  ASSERT_TRUE(predicted) << predicted.error().message;
  EXPECT_GT(predicted->run.prediction.step_time, Nanoseconds(0));
}

TEST_F(FuseOps, TakesTheFastestRecordedWay) {
  set({.grouped = 0.8, .dense = 0.5});
  EXPECT_THAT(groups_of(fuse({"conv1"})), ElementsAre("dense_convolution conv1", "serial"));
  set({.grouped = 0.8, .dense = 0.9});
  EXPECT_THAT(groups_of(fuse({"conv1"})), ElementsAre("grouped_convolution conv1", "serial"));
  // Only what is grouped takes the pool along.
  set({.grouped = 0.8, .dense = 0.1});
  EXPECT_THAT(groups_of(fuse({"conv1", "pool1"})), ElementsAre("grouped_convolution conv1 pool1", "serial"));
}

TEST_F(FuseOps, PrefersWhatWasRecorded) {
  // Without a record a dense convolution would count as so many single ones.
  bench_ = PlannerBench({network()}, 4, [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy == Strategy::kDenseConvolution) return std::nullopt;
    return times_of({.grouped = 3.0})(call);
  });
  EXPECT_THAT(groups_of(fuse({"conv1"})), ElementsAre("grouped_convolution conv1", "serial"));
}

TEST_F(FuseOps, LeavesOutWhatOnlyGivesATensorAnotherShape) {
  EXPECT_THAT(groups_of(fuse({"f*"})), ElementsAre("strided_batch fc1 fc2", "serial"));
}

TEST_F(FuseOps, SaysWhyAnOpIsNotFused) {
  EXPECT_THAT(
      refusal("norm"),
      HasSubstr("op norm (LocalResponseNormalization) cannot be fused by grouped_convolution: it does not treat"));
  EXPECT_THAT(refusal("pool1"),
              HasSubstr("op pool1 (MaxPool) is only fused along with the op ahead of it, by grouped"));
  EXPECT_THAT(refusal("n*"), HasSubstr("op norm ")) << "which is all that it matches";
  EXPECT_EQ(refusal("attention"), "attention: no op of this name is in several equal members");
  bench_ = PlannerBench({network(8), network(9)}, 2, times_of({}));
  EXPECT_EQ(refusal("fc1"), "fc1: no op of this name is in several equal members");
}

TEST_F(FuseOps, TakesWhatCanBeFusedOfAPattern) {
  set({.strided = 0.5, .grouped = 0.5, .dense = 2.0});
  EXPECT_THAT(groups_of(fuse({"*"})),
              ElementsAre("grouped_convolution conv1 pool1 conv2", "strided_batch fc1 fc2", "serial"));
}

TEST_F(FuseOps, NamesWhatItLeavesAlone) {
  std::vector<std::string> left_alone;
  ASSERT_TRUE(plan_with_fused_ops(bench_.planning_case(), rest(1), 1, {"*"}, &left_alone));
  EXPECT_THAT(left_alone, ElementsAre("norm")) << "a reshape takes no time";
  EXPECT_THAT(groups_of(fuse({"flatten"})), ElementsAre("serial"));
}

TEST_F(FuseOps, ChoosesWhatMakesTheWholeStepFaster) {
  set({.all_cores = 1.0, .beside = 1.0, .strided = 0.5, .grouped = 2.0, .dense = 2.0});
  const FusionChoice layers = choose();
  EXPECT_THAT(groups_of(layers.plan), ElementsAre("strided_batch fc1 fc2", "serial"));
  EXPECT_TRUE(layers.fuses);
  EXPECT_EQ(layers.would_cost, std::nullopt);
  set({.all_cores = 1.0, .beside = 1.0, .strided = 2.0, .grouped = 2.0, .dense = 0.5});
  EXPECT_THAT(groups_of(choose().plan), ElementsAre("dense_convolution conv1", "serial"));
}

TEST_F(FuseOps, ChoosesNothingWhereThatIsFastestAndSaysWhatFusingWouldCost) {
  set({.all_cores = 1.0, .beside = 1.0, .strided = 2.0, .grouped = 2.0, .dense = 2.0});
  const FusionChoice nothing = choose();
  EXPECT_THAT(groups_of(nothing.plan), ElementsAre("serial"));
  EXPECT_FALSE(nothing.fuses);
  const Nanoseconds least = std::min(step_time(*fuse({"fc1"})), step_time(*fuse({"fc2"})));
  EXPECT_EQ(nothing.would_cost, least - step_time(nothing.plan));
  const FusionChoice spread = choose(2);
  EXPECT_THAT(groups_of(spread.plan), ElementsAre("concurrent"));
  EXPECT_FALSE(spread.fuses);
  EXPECT_GT(spread.would_cost, Nanoseconds(0));
  bench_ = PlannerBench({network(8), network(9)}, 2, times_of({}));  // of which none are equal
  const FusionChoice apart = choose();
  EXPECT_FALSE(apart.fuses);
  EXPECT_EQ(apart.would_cost, std::nullopt);
  EXPECT_EQ(apart.simulated, 1U);
}

TEST_F(FuseOps, LeavesOutWhatCopiesIntoStacksEatUp) {
  // Grouped both convolutions take 80 us less. Stacking conv1's input takes four copies of 384 elements, 100 ns each,
  // conv2's four of 72.
  set({.all_cores = 1.0, .beside = 1.0, .strided = 0.5, .grouped = 0.98, .dense = 1.2});
  std::vector<ProfileRecord> records = bench_.records();
  for (ProfileRecord& each : records) {
    if (each.signature.starts_with("Copy ")) each.time *= 100;
  }
  bench_.set_records(records);
  const FusionChoice best = choose();
  EXPECT_THAT(groups_of(best.plan), ElementsAre("grouped_convolution conv2", "strided_batch fc1 fc2", "serial"));
  const Plan op_by_op = *fuse({"conv*", "fc*"});
  EXPECT_LT(step_time(best.plan), step_time(op_by_op));
  EXPECT_LT(step_time(*fuse({"fc*"})), step_time(*fuse({"conv1", "fc*"}))) << "else it is no trap";
}

TEST_F(FuseOps, ChoosesWithinTheLimits) {
  set({.all_cores = 1.0, .strided = 0.5});
  ASSERT_TRUE(choose().fuses);
  const CancelToken never;
  bench_.base.limits.memory = Bytes{100};
  const auto refused = choose_fusion(bench_.planning_case(), RestKind::kSerialBest, 1, &never);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kDoesNotFit);
  CancelToken cancelled;
  cancelled.cancel();
  const auto stopped = choose_fusion(bench_.planning_case(), RestKind::kSerialBest, 1, &cancelled);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace cohort
