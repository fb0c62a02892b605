// Schedules inside one model as plans: offered where there are branches, chosen where they win, predicted as run.

#include "simulator/planner/branches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/builder.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/planner.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// conv1, then towers of two convolutions each, added up.
Model towers(int count) {
  ModelBuilder builder("towers");
  const ModelBuilder::ConvolutionOptions same{.channels = 4, .kernel = 3, .stride = 1, .pad = 1};
  const TensorId x = builder.convolution("conv1", builder.input("x", {1, 4, 8, 8}), same);
  TensorId sum{};
  for (int i = 0; i < count; ++i) {
    TensorId y = builder.max_pool(fmt::format("pool{}", i), x, 1, 1);
    y = builder.convolution(fmt::format("conv{}a", i), y, same);
    y = builder.convolution(fmt::format("conv{}b", i), y, same);
    sum = i == 0 ? y : builder.add(fmt::format("sum{}", i), Binary{BinaryKind::kAdd}, {sum, y});
  }
  builder.output(sum);
  auto model = builder.finish();
  EXPECT_TRUE(model) << model.error().message;
  return *model;
}

/// A made-up device of two cores on which all cores take `all_cores` of one core's time.
class BranchBench {
 public:
  BranchBench(Model model, std::size_t members, double all_cores)
      : model_(std::move(model)), base_(fake_base(members)) {
    const auto times = [all_cores](const FakeCall& call) -> std::optional<std::int64_t> {
      if (call.strategy != Strategy::kSerial) return std::nullopt;
      const double time = call.op.starts_with("conv") ? 1'000'000 : 50'000;
      return static_cast<std::int64_t>(time * (call.threads > 1 ? all_cores : 1));
    };
    records_ = fake_records(model_, 2, times);
    costs_.emplace(records_);
    catalog_.emplace(*costs_, 2);
    models_.assign(members, &model_);
    device_.device = "fake";
    device_.cores = 2;
    device_.handoff_latency = Nanoseconds(2000);
  }
  [[nodiscard]] PlanningResult plan() const {
    auto result = plan_model_batch({&base_, models_, &*costs_, device_, &*catalog_});
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : PlanningResult{};
  }

 private:
  Model model_;
  Plan base_;
  std::vector<ProfileRecord> records_;
  std::optional<CostTable> costs_;
  std::optional<RecordedCatalog> catalog_;
  std::vector<const Model*> models_;
  DeviceProfile device_;
};

bool offers_branches(const PlanningResult& result) {
  const auto has = [](const auto& list) {
    return std::any_of(list.begin(), list.end(), [](const auto& each) { return each.name.starts_with("branches"); });
  };
  return has(result.ranked) || has(result.screened);
}

TEST(Branches, WinForOneMemberWhereSecondCoresHelpASingleOpLittle) {
  const PlanningResult result = BranchBench(towers(2), 1, 0.95).plan();
  const PlanCandidate& first = result.ranked.front();
  EXPECT_THAT(first.name, HasSubstr("branches x2"));
  // conv1 on all cores, a tower on each stream, their sum.
  EXPECT_GT(first.speedup, 1.5);
  EXPECT_GE(first.prediction.step_time, first.prediction.lower_bound);
  EXPECT_GT(first.attribution.of(GainCause::kOverlap), Nanoseconds(1'500'000));
  EXPECT_EQ(first.plan.streams, 2);
  const auto crosses = [](const Group& group) {
    return std::set<std::uint32_t>(group.op_streams.begin(), group.op_streams.end()).size() == 2;
  };
  EXPECT_TRUE(std::any_of(first.plan.groups.begin(), first.plan.groups.end(), crosses));
  const auto read = parse_plan(write_plan(first.plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, first.plan);
}

TEST(Branches, LoseWhereEveryOpUsesAllCoresWell) {
  EXPECT_THAT(BranchBench(towers(2), 1, 0.5).plan().ranked.front().name, Not(HasSubstr("branches")));
}

TEST(Branches, AreOfferedForFewMembersThatHaveThem) {
  EXPECT_TRUE(offers_branches(BranchBench(towers(3), 3, 0.8).plan()));
  EXPECT_FALSE(offers_branches(BranchBench(towers(3), 5, 0.8).plan()));
  EXPECT_FALSE(offers_branches(BranchBench(fake_cnn(1), 1, 0.8).plan()));
}

TEST(Branches, AreTheSameAgain) {
  const PlanningResult first = BranchBench(towers(4), 2, 0.8).plan();
  const PlanningResult again = BranchBench(towers(4), 2, 0.8).plan();
  ASSERT_EQ(first.ranked.size(), again.ranked.size());
  for (std::size_t i = 0; i < first.ranked.size(); ++i)
    EXPECT_EQ(write_plan(first.ranked[i].plan), write_plan(again.ranked[i].plan)) << first.ranked[i].name;
}

}  // namespace
}  // namespace cohort
