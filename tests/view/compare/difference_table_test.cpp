#include "view/compare/difference_table.hpp"

#include <gmock/gmock.h>

#include "tests/view/compare/small_traces.hpp"

namespace cohort {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;

class Differences : public testing::Test {
 protected:
  TraceComparison comparison_{
      shared(trace_of_plan(TraceKind::kPredicted, {{"0/conv1", 0, 0_us, 10_us},
                                                   {"1/conv1", 0, 10_us, 10_us},
                                                   {"0-1/fc1", 0, 20_us, 3_us, "fc1", "matrices"},
                                                   {"0/never", 0, 23_us, 1_us, "never", "matrices"}})),
      shared(trace_of_plan(TraceKind::kMeasured, {{"0/conv1", 0, 0_us, 8_us},
                                                  {"1/conv1", 0, 8_us, 13_us},
                                                  {"0-1/fc1", 0, 21_us, 1_us, "fc1", "matrices"},
                                                  {"0/conv1", 1, 30_us, 9_us},
                                                  {"0/conv1", 2, 40_us, 20_us}}))};

  [[nodiscard]] std::vector<DifferenceRow> rows(DifferencesBy by, CompareScope scope = CompareScope::kStep) const {
    return differences(comparison_, comparison_.overlay({{0, 0}, AlignAt::kStart, "", scope}).value(), by);
  }
};

std::vector<std::string> names(const std::vector<DifferenceRow>& rows) {
  std::vector<std::string> names;
  for (const DifferenceRow& row : rows) names.push_back(row.name);
  return names;
}

TEST_F(Differences, ComeLargestTimeFirstAndNamesBreakTies) {
  const std::vector<DifferenceRow> tasks = rows(DifferencesBy::kTask);
  EXPECT_THAT(names(tasks), ElementsAre("1/conv1", "0-1/fc1", "0/conv1", "0/never"));
  EXPECT_EQ(tasks[0].difference(), -3_us);
  EXPECT_DOUBLE_EQ(tasks[0].relative_error().value(), -3.0 / 13);
  EXPECT_EQ(tasks[0].start_shift, std::optional(2_us));
  EXPECT_THAT(tasks[0].slices[0], ElementsAre(SliceId(1)));
  EXPECT_THAT(tasks[0].slices[1], ElementsAre(SliceId(1)));
}

TEST_F(Differences, AreSortedByRelativeErrorToo) {
  std::vector<DifferenceRow> tasks = rows(DifferencesBy::kTask);
  sort_differences(tasks, DifferenceOrder::kRelativeError);
  EXPECT_THAT(names(tasks), ElementsAre("0-1/fc1", "0/conv1", "1/conv1", "0/never"));
}

TEST_F(Differences, AreSummedByOpAndGroup) {
  const std::vector<DifferenceRow> ops = rows(DifferencesBy::kOp);
  EXPECT_THAT(names(ops), ElementsAre("fc1", "conv1", "never"));
  EXPECT_EQ(ops[1].time.predicted, 20_us);
  EXPECT_EQ(ops[1].time.measured, 21_us);
  EXPECT_EQ(ops[1].start_shift, std::optional(1_us));  // the mean of 0 and 2
  EXPECT_FALSE(ops[2].both());
  EXPECT_EQ(ops[2].start_shift, std::nullopt);
  EXPECT_EQ(ops[2].relative_error(), std::nullopt);
  const std::vector<DifferenceRow> groups = rows(DifferencesBy::kGroup);
  EXPECT_THAT(names(groups), ElementsAre("matrices", "convolutions"));
  EXPECT_THAT(names(rows(DifferencesBy::kOpType)), Contains("convolution"));
}

TEST_F(Differences, TakeMediansOverAllSteps) {
  const std::vector<DifferenceRow> tasks = rows(DifferencesBy::kTask, CompareScope::kAllSteps);
  const auto conv = std::find_if(tasks.begin(), tasks.end(), [](const auto& row) { return row.name == "0/conv1"; });
  ASSERT_NE(conv, tasks.end());
  EXPECT_EQ(conv->time.measured, 9_us);
  EXPECT_THAT(conv->slices[1], ElementsAre(SliceId(0), SliceId(3), SliceId(4)));
}

TEST_F(Differences, HaveOneRowAPairOfSlices) {
  EXPECT_THAT(names(rows(DifferencesBy::kSlice)), ElementsAre("1/conv1", "0-1/fc1", "0/conv1"));
}

TEST_F(Differences, AreFoundByTextInAnyCase) {
  const DifferenceRow row = rows(DifferencesBy::kTask)[0];
  EXPECT_TRUE(matches(row, ""));
  EXPECT_TRUE(matches(row, "CONV"));
  EXPECT_TRUE(matches(row, "lutions"));
  EXPECT_FALSE(matches(row, "fc"));
}

TEST_F(Differences, AreWrittenForSpreadsheets) {
  std::vector<DifferenceRow> tasks = rows(DifferencesBy::kTask);
  tasks[3].name = "a \"b\", c";
  EXPECT_EQ(differences_csv(std::span(tasks).last(2)),
            "name,op,group,predicted_slices,measured_slices,predicted_ns,measured_ns,difference_ns,relative_error,"
            "start_shift_ns\r\n"
            "0/conv1,conv1,convolutions,1,1,10000,8000,2000,0.2500,0\r\n"
            "\"a \"\"b\"\", c\",never,matrices,1,0,1000,0,1000,,\r\n");
}

TEST(DifferencesOfPlans, CompareOpsThatNoTaskHasInCommon) {
  const TraceComparison comparison(
      shared(trace_of_plan(TraceKind::kPredicted, {{"0/conv1", 0, 0_us, 4_us}, {"1/conv1", 0, 4_us, 4_us}}, "{1}")),
      shared(trace_of_plan(TraceKind::kPredicted, {{"0-1/conv1", 0, 0_us, 5_us}}, "{2}")));
  const std::vector<DifferenceRow> ops = differences(comparison, comparison.overlay({}).value(), DifferencesBy::kOp);
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].time.predicted, 8_us);
  EXPECT_EQ(ops[0].time.measured, 5_us);
}

}  // namespace
}  // namespace cohort
