#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cuda_libraries.hpp"
#include "tests/cli/program.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TraceProgram : public ProgramTest {};

TEST_F(TraceProgram, WithoutADriverIsExitCode4BeforeTheProgramStarts) {
  if (probe_cuda_driver()) GTEST_SKIP() << "there is a driver here";
  const Outcome outcome = cohort({"profile", "--", "touch", path("started").string()});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("libcuda.so.1"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TraceProgram, IsNotAModelToo) {
  const Outcome both = cohort({"profile", "mlp", "--", "true"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("either a MODEL or a program"));
  const Outcome none = cohort({"profile"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("MODEL is required"));
  EXPECT_EQ(cohort({"profile", "--"}).exit_code, 2);
}

TEST_F(TraceProgram, OptionsBehindTheDashesAreItsOwn) {
  const Outcome outcome = cohort({"profile", "--", "prog", "--frobnicate", "-o", "x"});
  EXPECT_NE(outcome.exit_code, 2) << outcome.err;
}

TEST_F(TraceProgram, AndModelsHaveOptionsOfTheirOwn) {
  const Outcome program = cohort({"profile", "--minibatch", "4", "--no-fused", "--device", "cuda:0", "--", "true"});
  EXPECT_EQ(program.exit_code, 2);
  EXPECT_THAT(program.err,
              HasSubstr("--minibatch, --device, --no-fused: only for a MODEL, not for a program after --"));
  const Outcome model = cohort({"profile", "mlp", "--twice", "--latency", "--end-wait", "1"});
  EXPECT_EQ(model.exit_code, 2);
  EXPECT_THAT(model.err, HasSubstr("--latency, --end-wait, --twice: only for a program after --, not for a MODEL"));
  const Outcome too_long = cohort({"profile", "--end-wait", "1e9", "--", "true"});
  EXPECT_EQ(too_long.exit_code, 2);
  EXPECT_THAT(too_long.err, HasSubstr("--end-wait"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(TraceProgram, OnlyProfileTakesOne) {
  write("mlp.txt", "");
  EXPECT_EQ(cohort({"devices", "--", "true"}).exit_code, 2);
  EXPECT_THAT(files(), ElementsAre("mlp.txt"));
}

}  // namespace
}  // namespace cohort
