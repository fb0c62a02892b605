#include "planning/plan_files.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(PlanFiles, KeepDotsOfNamesApart) {
  EXPECT_EQ(PlanFiles::of("runs/lr0.01.plan.json").predicted, "runs/lr0.01.predicted.json.gz");
  EXPECT_EQ(PlanFiles::of("runs/lr0.02.plan.json").predicted, "runs/lr0.02.predicted.json.gz");
  EXPECT_EQ(beside_plan("lenet5.plan.json", ".measured.json.gz"), "lenet5.measured.json.gz");
  EXPECT_EQ(beside_plan("net.v2.json", ".batch.onnx"), "net.v2.batch.onnx");
  EXPECT_EQ(beside_plan("plan", ".batch.onnx"), "plan.batch.onnx");
}

}  // namespace
}  // namespace cohort
