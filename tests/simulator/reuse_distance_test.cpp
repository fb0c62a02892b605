#include "simulator/costs/reuse_distance.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/costs/step_cost.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

using namespace literals;

// Of each op; and of 4 samples what conv1 reads and writes, and conv2 writes.
constexpr Bytes kWeights = 4_KiB;
constexpr Bytes kInput{4 * 4 * 3 * 8 * 8};
constexpr Bytes kBetween{4 * 4 * 4 * 6 * 6};
constexpr Bytes kLast{4 * 4 * 4 * 4 * 4};

double part_of(Bytes some, Bytes all) { return static_cast<double>(some.value) / static_cast<double>(all.value); }

/// Every op takes 100 ns found in caches, and twice as long where a MiB or more was touched since.
std::vector<ProfileRecord> cached_and_not(const Model& model) {
  std::vector<ProfileRecord> records = fake_records(model, 1, [](const FakeCall& call) -> std::optional<std::int64_t> {
    return call.strategy == Strategy::kSerial ? std::optional(100) : std::nullopt;
  });
  for (ProfileRecord& each : records) each.packed_weights = kWeights;
  const std::vector<ProfileRecord> found = records;
  for (ProfileRecord each : found) {
    each.footprint = 1_MiB;
    each.time *= 2;
    records.push_back(each);
  }
  return records;
}

/// Eight members of a small convolutional network.
struct Members {
  explicit Members(Strategy strategy, InputSharing sharing = InputSharing::kShared, std::size_t count = 8)
      : costs(cached_and_not(model)) {
    plan = uniform_plan(fake_base(count).members, strategy,
                        strategy == Strategy::kConcurrent ? static_cast<int>(count) : 1);
    plan.input.sharing = sharing;
    const std::vector<const Model*> models(count, &model);
    Result<Program> lowered = lower(plan, models, RecordedCatalog(costs, 1));
    EXPECT_TRUE(lowered.has_value()) << lowered.error().message;
    if (lowered) program = std::move(*lowered);
  }

  /// Of the first step of this op.
  [[nodiscard]] std::vector<Reuse> reuses_of(std::string_view op) const {
    for (const EqualCalls& calls : reuse_distances(program)) {
      if (program.step(calls.steps.front()).op == op) return calls.reuses;
    }
    return {};
  }

  Model model = fake_cnn(4);
  CostTable costs;
  Plan plan;
  Program program;
};

TEST(ReuseDistance, IsEverythingWhereAllIsUsedOnceAStep) {
  const Members one(Strategy::kSerial, InputSharing::kShared, 1);
  const Members abreast(Strategy::kConcurrent, InputSharing::kSeparate);
  for (const Members* members : {&one, &abreast}) {
    for (const EqualCalls& calls : reuse_distances(members->program)) {
      ASSERT_EQ(calls.reuses.size(), 1U);
      EXPECT_EQ(calls.reuses[0].distance, footprint_of(members->program));
      EXPECT_DOUBLE_EQ(calls.reuses[0].part, 1);
    }
  }
}

TEST(ReuseDistance, OfWeightsThatSeveralStepsUseIsFromOneToTheNext) {
  Members eight(Strategy::kSerial);
  const std::vector<Reuse> apart = eight.reuses_of("conv1");
  std::optional<StepId> first;
  for (std::size_t i = 0; i < eight.program.steps.size(); ++i) {
    Step& step = eight.program.steps[i];
    if (step.op != "conv1") continue;
    step.same_kernel_as = first;
    if (!first) first = static_cast<StepId>(i);
  }
  eight.program.memory.weights = kWeights * 9;
  const Bytes turn = kWeights * 4 + kBetween + kLast + Bytes{4 * 4 * (16 + 8)};  // of a member, fc1 and fc2 included
  const std::vector<Bytes> distances = weight_distances(eight.program);
  for (std::size_t i = 0; i < distances.size(); ++i)
    EXPECT_EQ(distances[i], eight.program.steps[i].op == "conv1" ? turn : footprint_of(eight.program)) << i;
  const std::vector<Reuse> shared = eight.reuses_of("conv1");
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].distance, turn);
  EXPECT_DOUBLE_EQ(shared[0].part, part_of(kWeights, kWeights + kInput + kBetween));
  EXPECT_EQ(shared[1].distance, apart[1].distance) << "of activations, as much passes, though there is less";
}

TEST(ReuseDistance, OfActivationsIsAMembersTurnWhereMembersUseTheSameMemory) {
  const Members one(Strategy::kSerial, InputSharing::kShared, 1);
  const Members eight(Strategy::kSerial);
  for (const char* op : {"conv1", "conv2"}) {
    const std::vector<Reuse> reuses = eight.reuses_of(op);
    ASSERT_EQ(reuses.size(), 2U) << op;
    EXPECT_EQ(reuses[0].distance, footprint_of(eight.program));
    // The outputs of members stay until the next step, so all of them are part of what is touched.
    EXPECT_GE(reuses[1].distance, footprint_of(one.program));
    EXPECT_LT(reuses[1].distance.value, footprint_of(one.program).value * 5 / 4);
    EXPECT_DOUBLE_EQ(reuses[0].part + reuses[1].part, 1);
  }
  EXPECT_DOUBLE_EQ(eight.reuses_of("conv2")[0].part, part_of(kWeights, kWeights + kBetween + kLast));
}

TEST(ReuseDistance, OfInputIsAStepWhereMembersReadTheirOwn) {
  const Bytes all = kWeights + kInput + kBetween;
  EXPECT_DOUBLE_EQ(Members(Strategy::kSerial).reuses_of("conv1")[0].part, part_of(kWeights, all));
  EXPECT_DOUBLE_EQ(Members(Strategy::kSerial, InputSharing::kSeparate).reuses_of("conv1")[0].part,
                   part_of(kWeights + kInput, all));
}

TEST(StepCosts, AreThoseOfTheBytesThatCachesHoldAndOfThoseThatTheyDoNot) {
  Members many(Strategy::kSerial, InputSharing::kShared, 64);
  ASSERT_GT(footprint_of(many.program), 1_MiB);
  const auto costs = step_costs(many.program, many.costs, 1);
  ASSERT_TRUE(costs) << costs.error().message;
  const double weights = part_of(kWeights, kWeights + kBetween + kLast);
  const Reuse turn = many.reuses_of("conv2")[1];
  for (std::size_t i = 0; i < costs->size(); ++i) {
    if (many.program.steps[i].op != "conv2") continue;
    const Result<Cost> at_turn = many.costs.cost(many.program.steps[i].cost, {turn.distance, 0});
    const auto found = static_cast<double>(at_turn->time.count());
    EXPECT_LT(found, 200);
    ASSERT_NEAR(static_cast<double>((*costs)[i].alone.time.count()), found + weights * (200 - found), 1);
  }
}

}  // namespace
}  // namespace cohort
