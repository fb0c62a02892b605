#include "training/evaluation_plan.hpp"

#include <gmock/gmock.h>

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Model evaluation_of(const std::vector<std::string>& ops) {
  Model model;
  for (const std::string& name : ops) model.ops.push_back({name, {}, {}, {}, {}});
  return model;
}

Group group_of(std::string name, std::vector<std::string> ops, Strategy strategy) {
  Group group;
  group.name = std::move(name);
  group.members = {0, 1};
  group.ops = std::move(ops);
  group.strategy = strategy;
  return group;
}

Plan training_plan() {
  Plan plan = uniform_plan({{"m0", {}, 0}, {"m1", {}, 1}}, Strategy::kConcurrent, 2);
  Group branches = group_of("branches", {"side", "side.dx", "end"}, Strategy::kConcurrent);
  branches.after = {"backward", "forward"};
  branches.op_streams = {0, 1, 1};
  plan.groups = {group_of("forward", {"fc1", "relu", "fc2"}, Strategy::kStridedBatch),
                 group_of("backward", {"fc2.dw", "fc1.dw"}, Strategy::kConcurrent), std::move(branches)};
  plan.resolved = Resolved{};
  return plan;
}

TEST(EvaluationPlan, KeepsHowForwardOpsRunAndDropsTheRest) {
  const Plan plan = evaluation_plan(training_plan(), evaluation_of({"fc1", "fc2", "side", "end"}));
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_EQ(plan.groups[0].strategy, Strategy::kStridedBatch);
  EXPECT_THAT(plan.groups[0].ops, ElementsAre("fc1", "fc2"));
  EXPECT_THAT(plan.groups[1].ops, ElementsAre("side", "end"));
  EXPECT_THAT(plan.groups[1].op_streams, ElementsAre(0, 1));
  EXPECT_THAT(plan.groups[1].after, ElementsAre("forward")) << "there is no backward group to wait for";
  EXPECT_FALSE(plan.resolved);
  EXPECT_TRUE(validate(plan));
}

TEST(EvaluationPlan, RunsOpsOfItsOwnSideBySide) {
  const Plan plan = evaluation_plan(training_plan(), evaluation_of({"fc1", "bn.folded"}));
  ASSERT_THAT(plan.groups, SizeIs(2));
  EXPECT_THAT(plan.groups[1].ops, IsEmpty()) << "all that no other group names";
  EXPECT_EQ(plan.groups[1].strategy, Strategy::kConcurrent);
  EXPECT_THAT(
      evaluation_plan(uniform_plan(training_plan().members, Strategy::kSerial, 1), evaluation_of({"fc1"})).groups,
      SizeIs(1))
      << "a group that takes what no other names takes it here, too";
}

}  // namespace
}  // namespace cohort
