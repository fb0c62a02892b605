// Ops of several members in one launch, each in its own shape.

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/plan/test_catalog.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;

Model layers(std::int64_t inputs, std::int64_t hidden, bool third) {
  ModelBuilder builder("mlp");
  TensorId x = builder.input("x", {4, inputs});
  x = builder.linear("fc1", x, hidden);
  if (third) x = builder.linear("fc3", x, hidden);
  builder.output(builder.linear("fc2", x, 8));
  return *builder.finish();
}

class GroupedLowering : public ::testing::Test {
 protected:
  GroupedLowering() : plan_(uniform_plan({{"a", {}, 0}, {"b", {}, 1}, {"c", {}, 2}}, Strategy::kGroupedGemm, 1)) {}
  Result<Program> lowered() const {
    return lower(plan_, std::vector<const Model*>{&small_, &large_, &small_}, testing::TestCatalog(1, true));
  }

  Model small_ = layers(16, 5, false);
  Model large_ = layers(9, 32, true);
  Plan plan_;
};

TEST_F(GroupedLowering, PutsOpsOfOneNameInOneStep) {
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  std::vector<std::string> tasks;
  for (const Step& step : program->steps) tasks.push_back(step.task);
  EXPECT_THAT(tasks, ElementsAre("0-2/fc1", "1/fc3", "0-2/fc2"));
  EXPECT_EQ(program->steps[0].cost.strategy, Strategy::kGroupedGemm);
  EXPECT_EQ(program->steps[0].cost.width, 3);
  EXPECT_EQ(program->steps[1].cost.strategy, Strategy::kSerial) << "one op alone is what it is";
}

TEST_F(GroupedLowering, KeepsEveryMembersShapesTensorsAndSignature) {
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  const OpCall& call = program->steps[0].call;
  const std::vector<OpCall> parts = parts_of(call);
  ASSERT_EQ(parts.size(), 3U);
  const std::vector<const Model*> models{&small_, &large_, &small_};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Op& op = models[i]->ops[0];
    EXPECT_EQ(parts[i].signature, signature_of(*models[i], op));
    EXPECT_EQ(parts[i].outputs[0].shape, models[i]->tensor(op.outputs[0]).shape);
    ASSERT_EQ(parts[i].inputs.size(), 3U);
    EXPECT_EQ(to_index(std::get<WeightView>(parts[i].inputs[1]).parts[0].member), i);
  }
  EXPECT_EQ(call.signature,
            fmt::format("Group: {}",
                        fmt::join(
                            [&] {
                              std::vector<std::string> all{"2 * " + parts[0].signature, "1 * " + parts[1].signature};
                              std::sort(all.begin(), all.end(),
                                        [](const auto& a, const auto& b) { return a.substr(4) < b.substr(4); });
                              return all;
                            }(),
                            " + ")));
}

}  // namespace
}  // namespace cohort
