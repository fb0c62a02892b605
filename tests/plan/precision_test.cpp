// Precision as a plan's choice: what is stored in which type, where it is converted, and who refuses.

#include "simulator/plan/precision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/builder.hpp"
#include "simulator/plan/lower.hpp"
#include "tests/plan/test_catalog.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HalfCatalog final : public testing::TestCatalog {
 public:
  HalfCatalog() : TestCatalog(1, true) {}
  std::vector<Precision> precisions() const override { return {Precision::kFloat32, Precision::kFloat16}; }
  int multiprocessors() const override { return 100; }
};

Model two_products() {
  ModelBuilder builder("mlp");
  TensorId x = builder.input("x", {4, 16});
  x = builder.linear("fc1", x, 32);
  builder.output(builder.linear("fc2", x, 8));
  return *builder.finish();
}

class PrecisionLowering : public ::testing::Test {
 protected:
  PrecisionLowering() : plan_(uniform_plan({{"a", {}, 0}, {"b", {}, 1}}, Strategy::kConcurrent, 2)) {
    plan_.precision = Precision::kFloat16;
  }
  Result<Program> lowered() const { return lower(plan_, std::vector<const Model*>{&model_, &model_}, catalog_); }

  Model model_ = two_products();
  HalfCatalog catalog_;
  Plan plan_;
};

TEST_F(PrecisionLowering, ConvertsASharedInputOnceAndEachOutput) {
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  std::vector<std::string> copies;
  for (const Step& step : program->steps) {
    EXPECT_EQ(step.call.precision, Precision::kFloat16);
    if (step.cost.signature.starts_with("Copy ")) copies.push_back(step.task + ": " + step.cost.signature);
    if (step.op == "fc1") {
      EXPECT_THAT(step.cost.signature, HasSubstr(" in float16"));
    }
  }
  EXPECT_THAT(copies, ElementsAre("0-1/x:float16: Copy [4, 16] to float16", HasSubstr("Copy [4, 8] from float16"),
                                  HasSubstr("Copy [4, 8] from float16")));
}

TEST_F(PrecisionLowering, StoresAllButInputsAndOutputsInTheSmallerType) {
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  for (const Step& step : program->steps) {
    if (step.cost.signature.starts_with("Copy ")) continue;
    for (const Operand& operand : step.call.inputs)
      EXPECT_EQ(std::visit([](const auto& view) { return view.type; }, operand), DataType::kFloat16) << step.task;
    EXPECT_EQ(step.call.outputs[0].type, DataType::kFloat16) << step.task;
  }
  for (const Buffer& buffer : program->buffers) {
    if (buffer.kind == BufferKind::kInput) {
      EXPECT_EQ(buffer.size.value, 4 * 16 * 4) << buffer.name;
    } else if (buffer.kind == BufferKind::kOutput) {
      EXPECT_EQ(buffer.size.value, 4 * 8 * 4) << buffer.name;
    } else if (buffer.kind == BufferKind::kActivation) {
      EXPECT_THAT((std::vector<std::int64_t>{4 * 16 * 2, 4 * 32 * 2, 4 * 8 * 2}),
                  ::testing::Contains(buffer.size.value))
          << buffer.name;
    }
  }
  for (const ProgramOutput& output : program->outputs) EXPECT_EQ(output.view.type, DataType::kFloat32);
}

TEST_F(PrecisionLowering, LeavesFloat32AsItIs) {
  plan_.precision = Precision::kFloat32;
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(program->steps.size(), 4U);
  for (const Step& step : program->steps) EXPECT_THAT(step.cost.signature, ::testing::Not(HasSubstr(" in ")));
}

TEST_F(PrecisionLowering, IsRefusedByADeviceThatDoesNotComputeInIt) {
  plan_.precision = Precision::kBfloat16;
  const auto refused = lowered();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(refused.error().message,
            "precision: bfloat16 is not there on this device, which computes in float32, float16");
}

TEST_F(PrecisionLowering, TellsEachOpOfAGroupHowManyMultiprocessorsToUse) {
  plan_.groups[0].multiprocessors = 50;
  const auto program = lowered();
  ASSERT_TRUE(program) << program.error().message;
  for (const Step& step : program->steps) EXPECT_EQ(step.call.multiprocessors, 50) << step.task;
  plan_.groups[0].multiprocessors = 101;
  EXPECT_EQ(lowered().error().message, "groups[0].multiprocessors: 101 asked for, the device has 100");
  plan_.precision = Precision::kFloat32;
  const testing::TestCatalog none(1, true);
  const auto refused = lower(plan_, std::vector<const Model*>{&model_, &model_}, none);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("groups[0].multiprocessors: ops on this device cannot be told"));
}

TEST(Tolerance, GrowsWithWhatIsRoundedAway) {
  EXPECT_LT(tolerance_of(Precision::kFloat32), tolerance_of(Precision::kTf32));
  EXPECT_EQ(tolerance_of(Precision::kTf32), tolerance_of(Precision::kFloat16));
  EXPECT_LT(tolerance_of(Precision::kFloat16), tolerance_of(Precision::kBfloat16));
}

}  // namespace
}  // namespace cohort
