// Schedules inside one model as plans: offered where there are branches, chosen where they win, predicted as run.

#include "simulator/planner/branches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/builder.hpp"
#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/planner/evaluate.hpp"
#include "simulator/planner/planner.hpp"
#include "simulator/planner/variants.hpp"
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

/// On cores of which all take `all_cores` of one core's time. Nothing is fused.
FakeTimes on_cores(double all_cores) {
  return [all_cores](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kSerial) return std::nullopt;
    const double time = call.op.starts_with("conv") ? 1'000'000 : 50'000;
    return static_cast<std::int64_t>(time * (call.threads > 1 ? all_cores : 1));
  };
}

/// The same, but convolutions of several members together take little longer than one.
FakeTimes on_cores_with_grouped(double all_cores) {
  return [all_cores](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kGroupedConvolution || !call.op.starts_with("conv"))
      return on_cores(all_cores)(call);
    return static_cast<std::int64_t>((1'000'000 + 50'000 * call.width) * (call.threads > 1 ? all_cores : 1));
  };
}

/// Members on a made-up device: of two cores, or a GPU that one launches for.
class BranchBench {
 public:
  BranchBench(Model model, std::size_t members, const FakeTimes& times, bool on_gpu = false)
      : model_(std::move(model)), base_(fake_base(members)) {
    device_.device = "fake";
    device_.cores = on_gpu ? 1 : 2;
    device_.handoff_latency = Nanoseconds(2000);
    records_ = fake_records(model_, device_.cores, times);
    costs_.emplace(records_);
    catalog_.emplace(*costs_, device_.cores);
    models_.assign(members, &model_);
    if (on_gpu) gpu_.emplace(*published_gpu_profile("NVIDIA H100 80GB HBM3"));
  }
  [[nodiscard]] PlanningCase planning_case() {
    PlanningCase planning_case{&base_, models_, &*costs_, device_, &*catalog_};
    if (gpu_) planning_case.gpu = &*gpu_;
    return planning_case;
  }
  [[nodiscard]] PlanningResult plan() {
    auto result = plan_model_batch(planning_case());
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
  std::optional<GpuDemands> gpu_;
};

bool splits(const PlanCandidate& candidate) { return candidate.name.starts_with("branches"); }

/// The best that runs no branches side by side.
const PlanCandidate& best_unsplit(const PlanningResult& result) {
  return *std::find_if_not(result.ranked.begin(), result.ranked.end(), splits);
}

void expect_round_trip(const Plan& plan) {
  const auto read = parse_plan(write_plan(plan));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, plan);
}

bool offers_branches(const PlanningResult& result) {
  const auto has = [](const auto& list) {
    return std::any_of(list.begin(), list.end(), [](const auto& each) { return each.name.starts_with("branches"); });
  };
  return has(result.ranked) || has(result.screened);
}

TEST(Branches, WinForOneMemberWhereSecondCoresHelpASingleOpLittle) {
  const PlanningResult result = BranchBench(towers(2), 1, on_cores(0.95)).plan();
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
  expect_round_trip(first.plan);
}

TEST(Branches, LoseWhereEveryOpUsesAllCoresWell) {
  EXPECT_THAT(BranchBench(towers(2), 1, on_cores(0.5)).plan().ranked.front().name, Not(HasSubstr("branches")));
}

TEST(Branches, AreOfferedForMembersThatHaveThem) {
  EXPECT_TRUE(offers_branches(BranchBench(towers(3), 3, on_cores(0.8)).plan()));
  EXPECT_TRUE(offers_branches(BranchBench(towers(3), 5, on_cores(0.8)).plan()));
  EXPECT_FALSE(offers_branches(BranchBench(fake_cnn(1), 1, on_cores(0.8)).plan()));
}

TEST(Branches, WinForMembersThatDoNotDivideAmongCores) {
  // 3 and 2 members on a core each leave one core idle for a member's time.
  const PlanningResult result = BranchBench(towers(4), 5, on_cores(0.95)).plan();
  EXPECT_TRUE(splits(result.ranked.front())) << print(result);
  EXPECT_LT(seconds(result.ranked.front().prediction.step_time),
            0.95 * seconds(best_unsplit(result).prediction.step_time));
}

TEST(Branches, AreOnlyTheMostPromisingForMoreMembers) {
  const PlanningResult result = BranchBench(towers(4), 5, on_cores(0.95)).plan();
  EXPECT_LE(std::count_if(result.ranked.begin(), result.ranked.end(), splits), 8);
}

TEST(Branches, OfFusedOpsRunSideBySideToo) {
  const PlanningResult result = BranchBench(towers(2), 8, on_cores_with_grouped(0.95)).plan();
  const PlanCandidate& first = result.ranked.front();
  EXPECT_TRUE(splits(first)) << print(result);
  EXPECT_THAT(first.name, HasSubstr(" + grouped convolution (conv1 ... "));
  // Each core has one tower of all members, not both towers of half of them.
  EXPECT_LT(seconds(first.prediction.step_time), 0.85 * seconds(best_unsplit(result).prediction.step_time));
  EXPECT_GT(first.attribution.of(GainCause::kFusion), Nanoseconds(0));
  EXPECT_GT(first.attribution.of(GainCause::kOverlap), Nanoseconds(0));
  std::set<std::uint32_t> streams;
  for (const Group& group : first.plan.groups) {
    if (group.strategy == Strategy::kGroupedConvolution) streams.insert(group.streams.begin(), group.streams.end());
  }
  EXPECT_EQ(streams, (std::set<std::uint32_t>{0, 1}));
  EXPECT_TRUE(validate(first.plan));
  expect_round_trip(first.plan);
}

/// Of small kernels that next to nothing of the device is used by.
FakeTimes small_kernels() {
  return [](const FakeCall& call) -> std::optional<std::int64_t> { return 20'000 * call.width; };
}

TEST(Branches, OfMembersOnAGpuHaveStreamsOfTheirOwn) {
  const PlanningResult result = BranchBench(towers(4), 6, small_kernels(), true).plan();
  const PlanCandidate& first = result.ranked.front();
  EXPECT_THAT(first.name, HasSubstr(" in 6 sets")) << print(result);
  EXPECT_LT(seconds(first.prediction.step_time), 0.8 * seconds(best_unsplit(result).prediction.step_time));
  const int each = first.plan.streams / 6;
  for (const Group& group : first.plan.groups) {
    ASSERT_EQ(group.streams.size(), 6U);
    for (std::size_t member = 0; member < 6; ++member)
      EXPECT_EQ(group.streams[member], member * static_cast<std::size_t>(each));
  }
  expect_round_trip(first.plan);
}

void expect_bounds_hold(BranchBench bench, RestKind rest, int streams) {
  const PlanningCase planning_case = bench.planning_case();
  PlanEvaluator evaluator(planning_case);
  VariantMaker maker(planning_case, evaluator.times(), evaluator.footprint(planning_case.models));
  Variant bare;
  bare.rest = rest;
  bare.streams = streams;
  std::vector<Variant> starts = maker.fusions(bare);
  starts.push_back(bare);
  std::size_t looked_at = 0;
  for (const Variant& start : starts) {
    for (const Variant& split : maker.branches_changed(start)) {
      const auto evaluation = evaluator.evaluate(maker.plan_of(split), planning_case.models);
      ASSERT_TRUE(evaluation) << maker.name_of(split) << ": " << evaluation.error().message;
      EXPECT_LE(maker.bound(split), evaluation->prediction.step_time) << maker.name_of(split);
      EXPECT_GT(maker.estimate(split), Nanoseconds(0)) << maker.name_of(split);
      ++looked_at;
    }
  }
  EXPECT_GT(looked_at, 20U);
}

TEST(Branches, TakeNoLessThanTheirBounds) {
  expect_bounds_hold({towers(2), 3, on_cores_with_grouped(0.7)}, RestKind::kConcurrent, 2);
  expect_bounds_hold({towers(3), 5, on_cores_with_grouped(0.95)}, RestKind::kSerialBest, 1);
  const FakeTimes grouped = [](const FakeCall& call) -> std::optional<std::int64_t> {
    if (call.strategy != Strategy::kGroupedConvolution || !call.op.starts_with("conv")) return small_kernels()(call);
    return 20'000 + 2'000 * call.width;
  };
  expect_bounds_hold({towers(2), 6, grouped, true}, RestKind::kSerialBest, 1);
}

TEST(Branches, AreTheSameAgain) {
  const PlanningResult first = BranchBench(towers(4), 2, on_cores(0.8)).plan();
  const PlanningResult again = BranchBench(towers(4), 2, on_cores(0.8)).plan();
  ASSERT_EQ(first.ranked.size(), again.ranked.size());
  for (std::size_t i = 0; i < first.ranked.size(); ++i)
    EXPECT_EQ(write_plan(first.ranked[i].plan), write_plan(again.ranked[i].plan)) << first.ranked[i].name;
}

}  // namespace
}  // namespace cohort
