#include "simulator/planner/program_shape.hpp"

#include <gtest/gtest.h>

#include "simulator/costs/recorded_catalog.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/simulator/fake_profile.hpp"

namespace cohort {
namespace {

/// Two members on streams of their own, each in a group.
class TwoGroups {
 public:
  TwoGroups() : model_(fake_mlp(6)), costs_(fake_records(model_, 2, [](const FakeCall&) { return 1'000; })) {
    plan = fake_base(2);
    plan.streams = 2;
    for (std::uint32_t m = 0; m < 2; ++m) {
      Group group;
      group.name = "m" + std::to_string(m);
      group.members = {m};
      group.strategy = Strategy::kConcurrent;
      group.streams = {m};
      plan.groups.push_back(std::move(group));
    }
  }
  [[nodiscard]] Program lowered() const {
    const std::vector<const Model*> models{&model_, &model_};
    auto program = lower(plan, models, RecordedCatalog(costs_, 2), first_alternative);
    EXPECT_TRUE(program) << program.error().message;
    return program ? *std::move(program) : Program{};
  }

  Plan plan;

 private:
  Model model_;
  CostTable costs_;
};

TEST(ProgramShape, TellsProgramsApartThatDifferOnlyInWhatStepsWaitFor) {
  TwoGroups side_by_side;
  TwoGroups in_turn;
  in_turn.plan.groups[1].after = {"m0"};
  const Program a = side_by_side.lowered();
  const Program b = in_turn.lowered();
  EXPECT_EQ(resolve(side_by_side.plan, a, "").steps, resolve(in_turn.plan, b, "").steps);
  EXPECT_NE(shape_of(a), shape_of(b));
  EXPECT_EQ(shape_of(a), shape_of(side_by_side.lowered()));
}

TEST(ProgramShape, TellsProgramsApartThatDifferOnlyInStreams) {
  TwoGroups one;
  TwoGroups other;
  std::swap(other.plan.groups[0].streams, other.plan.groups[1].streams);
  EXPECT_NE(shape_of(one.lowered()), shape_of(other.lowered()));
}

}  // namespace
}  // namespace cohort
