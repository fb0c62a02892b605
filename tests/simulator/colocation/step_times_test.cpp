#include "simulator/colocation/step_times.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cohort {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto table = parse_step_times(text);
  return table ? "accepted" : table.error().message;
}

TEST(StepTimes, AreReadInEveryUnit) {
  const auto table = parse_step_times(
      "minibatch,gpcs,processes,samples_per_s,gpu_busy_ms,dram_percent,part\n"
      "8,7,1,1600,3.5,25,\n\n8,7,2,1000,,,\n4,3,1,2000,,,head\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->unit, ShareUnit::kGpcs);
  ASSERT_EQ(table->rows.size(), 3U);
  EXPECT_EQ(table->rows[0].step, 5_ms);
  EXPECT_EQ(table->rows[0].gpu_busy, 3500_us);
  EXPECT_EQ(table->rows[0].dram, 0.25);
  EXPECT_EQ(table->rows[1].processes, 2);
  EXPECT_EQ(table->rows[1].step, 8_ms);
  EXPECT_EQ(table->rows[2].part, "head");
  EXPECT_EQ(table->rows[2].line, 5U);

  EXPECT_EQ(parse_step_times("minibatch,step_us\n1,2500\n")->rows[0].step, 2500_us);
  EXPECT_EQ(parse_step_times("sm_percent,minibatch,step_ms\n40,1,2.5\n")->rows[0].share, 40);
  EXPECT_THAT(parse_step_times("minibatch,step_ms,note\n1,2,x\n")->unused, ElementsAre("note"));
}

TEST(StepTimes, NamesWhatIsWrongInTheFirstLine) {
  EXPECT_THAT(refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("batch,step_ms\n1,2\n"), HasSubstr("no column minibatch, but batch, step_ms"));
  EXPECT_THAT(refusal("minibatch,time\n1,2\n"), HasSubstr("must name one of step_ms, step_us"));
  EXPECT_THAT(refusal("minibatch,step_ms,step_us\n1,2,2000\n"), HasSubstr("names step_ms, step_us"));
  EXPECT_THAT(refusal("minibatch,step_ms,gpcs,sm_percent\n1,2,7,100\n"), HasSubstr("keep one of them"));
  EXPECT_THAT(refusal("minibatch,step_ms,step_ms\n1,2,2\n"), HasSubstr("two columns are named \"step_ms\""));
}

TEST(StepTimes, NamesTheLineAndColumnOfWhatIsWrong) {
  EXPECT_THAT(refusal("minibatch,step_ms\n1,2\n2,fast\n"), HasSubstr("line 3: column step_ms must be a number"));
  EXPECT_THAT(refusal("minibatch,step_ms\n1,-2\n"), HasSubstr("line 2: column step_ms must be 0.001 to"));
  EXPECT_THAT(refusal("minibatch,step_ms\n1,nan\n"), HasSubstr("line 2: column step_ms must be a number"));
  EXPECT_THAT(refusal("minibatch,step_ms\n1.5,2\n"), HasSubstr("line 2: column minibatch must be a whole number"));
  EXPECT_THAT(refusal("minibatch,step_ms\n0,2\n"), HasSubstr("line 2: column minibatch must be 1 to"));
  EXPECT_THAT(refusal("minibatch,step_ms\n,2\n"), HasSubstr("line 2: column minibatch is empty"));
  EXPECT_THAT(refusal("minibatch,step_ms\n1\n"), HasSubstr("line 2: 1 fields; the first line names 2 columns"));
  EXPECT_THAT(refusal("minibatch,step_ms,sm_percent\n1,2,140\n"), HasSubstr("column sm_percent must be 1 to 100"));
  EXPECT_THAT(refusal("minibatch,step_ms,gpu_busy_ms\n1,2,3\n"), HasSubstr("line 2: the GPU is busy for 3.00 ms"));
  EXPECT_THAT(refusal("minibatch,step_ms\n"), HasSubstr("no row of one process alone"));
  EXPECT_THAT(refusal("minibatch,step_ms,processes\n1,2,2\n"), HasSubstr("no row of one process alone"));
}

TEST(StepTimes, TellWhatSeveralProcessesGained) {
  const auto table = parse_step_times("minibatch,processes,step_ms\n8,1,5\n8,2,6\n8,3,6.001\n16,1,9\n").value();
  const StepTime& alone = table.rows.front();
  const auto two = measured_together(table, alone, 2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->step, 6_ms);
  EXPECT_NEAR(two->gain, 10.0 / 6, 1e-9);
  EXPECT_FALSE(two->one_died);
  EXPECT_TRUE(measured_together(table, alone, 3)->one_died);
  EXPECT_FALSE(measured_together(table, alone, 4));
  EXPECT_FALSE(measured_together(table, alone, 1));
  EXPECT_FALSE(measured_together(table, table.rows.back(), 2));
}

TEST(StepTimes, RefusesALogOfEveryStep) {
  std::string text = "minibatch,step_ms\n";
  for (int i = 1; i <= 10'001; ++i) text += fmt::format("{},{}\n", i, 1 + 1e-3 * i);
  EXPECT_THAT(refusal(text), HasSubstr("more than 10000 rows"));
}

TEST(StepTimes, RefusesRowsThatContradictEachOther) {
  EXPECT_THAT(refusal("minibatch,step_ms\n1,2\n1,2.1\n"), HasSubstr("line 3: the same minibatch, share and number"));
  EXPECT_THAT(refusal("minibatch,step_ms\n1,20\n64,5\n"),
              HasSubstr("line 3: a step of 5.00 ms with minibatch 64 contradicts"));
  EXPECT_THAT(refusal("minibatch,gpcs,step_ms\n8,7,20\n8,1,5\n"), HasSubstr("line 3"));
  // Libraries may choose a slower algorithm for a smaller minibatch; several processes may be slower than one.
  EXPECT_EQ(refusal("minibatch,step_ms\n1,11\n2,9\n"), "accepted");
  EXPECT_EQ(refusal("minibatch,processes,step_ms\n1,1,5\n1,4,40\n8,1,9\n"), "accepted");
}

}  // namespace
}  // namespace cohort
