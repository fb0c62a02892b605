// Ops that are fused because they were asked for.

#include "simulator/planner/fuse_ops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  explicit FuseOps(const Prices& prices = {}) : bench_({network()}, 4, times_of(prices)) {}
  void set(const Prices& prices) { bench_ = PlannerBench({network()}, 4, times_of(prices)); }

  Result<Plan> fuse(std::optional<std::vector<std::string>> patterns, int streams = 1) {
    return plan_with_fused_ops(bench_.planning_case(), streams > 1 ? RestKind::kConcurrent : RestKind::kSerialBest,
                               streams, patterns);
  }
  std::string refusal(const std::string& pattern) {
    const Result<Plan> plan = fuse(std::vector{pattern});
    EXPECT_FALSE(plan);
    if (plan) return "";
    EXPECT_EQ(plan.error().code, ErrorCode::kNegativeAnswer);
    return plan.error().message;
  }

  PlannerBench bench_;
};

TEST_F(FuseOps, RunsNamedOpsTogetherAndOthersAsTheyWere) {
  EXPECT_THAT(groups_of(fuse({{"fc*"}})), ElementsAre("strided_batch fc1 fc2", "serial"));
  EXPECT_THAT(groups_of(fuse({{"fc2", "conv2"}})),
              ElementsAre("grouped_convolution conv2", "strided_batch fc2", "serial"));
  EXPECT_THAT(groups_of(fuse({{"fc1"}}, 2)), ElementsAre("strided_batch fc1", "strided_batch fc1", "concurrent"));
  const auto predicted = predict_plan(bench_.planning_case(), *fuse({{"fc*"}}), {});
  ASSERT_TRUE(predicted) << predicted.error().message;
  EXPECT_GT(predicted->run.prediction.step_time, Nanoseconds(0));
}

TEST_F(FuseOps, TakesTheFastestRecordedWay) {
  set({.grouped = 0.8, .dense = 0.5});
  EXPECT_THAT(groups_of(fuse({{"conv1"}})), ElementsAre("dense_convolution conv1", "serial"));
  set({.grouped = 0.8, .dense = 0.9});
  EXPECT_THAT(groups_of(fuse({{"conv1"}})), ElementsAre("grouped_convolution conv1", "serial"));
  // Only what is grouped takes the pool along.
  set({.grouped = 0.8, .dense = 0.1});
  EXPECT_THAT(groups_of(fuse({{"conv1", "pool1"}})), ElementsAre("grouped_convolution conv1 pool1", "serial"));
}

TEST_F(FuseOps, PrefersWhatWasRecorded) {
  // Without a record a dense convolution would count as so many single ones.
  bench_ = PlannerBench({network()}, 4, [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy == Strategy::kDenseConvolution) return std::nullopt;
    return times_of({.grouped = 3.0})(call);
  });
  EXPECT_THAT(groups_of(fuse({{"conv1"}})), ElementsAre("grouped_convolution conv1", "serial"));
}

TEST_F(FuseOps, LeavesOutWhatOnlyGivesATensorAnotherShape) {
  EXPECT_THAT(groups_of(fuse({{"f*"}})), ElementsAre("strided_batch fc1 fc2", "serial"));
}

TEST_F(FuseOps, SaysWhyAnOpIsNotFused) {
  EXPECT_THAT(
      refusal("norm"),
      HasSubstr("op norm (LocalResponseNormalization) cannot be fused by grouped_convolution: it does not treat"));
  EXPECT_THAT(refusal("pool1"),
              HasSubstr("op pool1 (MaxPool) is only fused along with the op ahead of it, by grouped"));
  EXPECT_THAT(refusal("*"), HasSubstr("op norm "));
  EXPECT_EQ(refusal("attention"), "attention: no op that several equal members have is called so");
  bench_ = PlannerBench({network(8), network(9)}, 2, times_of({}));
  EXPECT_THAT(refusal("fc1"), HasSubstr("no op that several equal members have"));
}

TEST_F(FuseOps, TakesWhatIsFasterWithoutNames) {
  set({.all_cores = 1.0, .beside = 1.0, .strided = 0.5, .grouped = 2.0, .dense = 2.0});
  EXPECT_THAT(groups_of(fuse(std::nullopt)), ElementsAre("strided_batch fc1 fc2", "serial"));
  set({.all_cores = 1.0, .beside = 1.0, .strided = 2.0, .grouped = 2.0, .dense = 0.5});
  EXPECT_THAT(groups_of(fuse(std::nullopt)), ElementsAre("dense_convolution conv1", "serial"));
  set({.all_cores = 1.0, .beside = 1.0, .strided = 2.0, .grouped = 2.0, .dense = 2.0});
  EXPECT_THAT(groups_of(fuse(std::nullopt, 2)), ElementsAre("concurrent"));
}

}  // namespace
}  // namespace cohort
