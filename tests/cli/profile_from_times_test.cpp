// `cohort profile --times`: planning for a GPU that is not here from a few lines of a log.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "simulator/contention/gpu_profile.hpp"
#include "tests/cli/program.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ProfileFromTimes : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("resnet18.csv", "minibatch,samples_per_s\n1,400\n2,790\n16,2220\n64,2480\n");
  }
  std::vector<std::string> of(std::vector<std::string> more) {
    std::vector<std::string> words = {"profile", "resnet18", "--times", "resnet18.csv", "--device-profile", "A100"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(ProfileFromTimes, MakesAProfileToPlanWith) {
  const Outcome made = cohort(of({"--minibatch", "16", "--json"}));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto found = nlohmann::json::parse(made.out);
  EXPECT_EQ(found["line"], 4);
  EXPECT_EQ(found["gpu_work_from"], "own step time");
  EXPECT_NEAR(found["step_ns"].get<double>(), 7.207e6, 1e3);
  EXPECT_NEAR(found["host_ns"].get<double>(), 2.5e6, 0.1e6);
  const Outcome planned = cohort({"plan", "resnet18.trace.json.gz", "-n", "4", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const auto plans = nlohmann::json::parse(planned.out);
  // The GPU is full with one, so four take about four times its part of a step, and launching in graphs saves nothing.
  EXPECT_NEAR(plans["baseline_ns"].get<double>(), 4 * found["gpu_work_ns"].get<double>(), 1e6);
  EXPECT_THAT(planned.out, HasSubstr("ops were not timed"));
  EXPECT_EQ(cohort({"trace", "info", "resnet18.trace.json.gz"}).exit_code, 0);
  EXPECT_EQ(cohort({"report", "resnet18.plan.json", "resnet18.predicted.json.gz", "resnet18.trace.json.gz"}).exit_code,
            0);
}

TEST_F(ProfileFromTimes, PromisesStreamsNothingWhereOneModelCoversTheGpu) {
  const Outcome made = cohort(of({"--minibatch", "64", "--precision", "tf32", "-q"}));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome four = cohort({"simulate", "resnet18.trace.json.gz", "-n", "4", "--strategy", "concurrent", "--streams",
                               "4", "--graphs", "--json"});
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_NEAR(nlohmann::json::parse(four.out)["predicted_speedup"].get<double>(), 1.04, 0.04);
}

TEST_F(ProfileFromTimes, PutsSmallOpsOfSeveralMembersSideBySideInOneLaunch) {
  write("lstm.csv", "minibatch,step_ms,gpu_busy_ms\n1,0.2,0.18\n");
  const Outcome made = cohort({"profile", "lstm", "--times", "lstm.csv", "--device-profile", "A100", "-q"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome together = cohort({"simulate", "lstm.trace.json.gz", "-n", "16", "--fuse", "*", "--graphs", "--json"});
  ASSERT_EQ(together.exit_code, 0) << together.err;
  EXPECT_GT(nlohmann::json::parse(together.out)["predicted_speedup"].get<double>(), 8) << "11x was measured on an H200";
  const Outcome planned = cohort({"plan", "lstm.trace.json.gz", "-n", "16", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_GT(nlohmann::json::parse(planned.out)["ranked"][0]["predicted_speedup"].get<double>(), 8)
      << "and the planner finds it";
}

TEST_F(ProfileFromTimes, SaysWhatItFound) {
  const Outcome made = cohort(of({}));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("one step of minibatch 1 takes 2.50 ms (line 2)"));
  EXPECT_THAT(made.out, HasSubstr("the host needs 2.5"));
  EXPECT_THAT(made.err, HasSubstr("their times estimated"));
}

TEST_F(ProfileFromTimes, MakesOneInHalfPrecisionForFittedFigures) {
  write("a100.json", write_gpu_profile(*published_gpu_profile("NVIDIA A100-SXM4-40GB")));
  const Outcome made = cohort({"profile", "resnet18", "--times", "resnet18.csv", "--device-profile", "a100.json",
                               "--minibatch", "16", "--precision", "float16"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Outcome planned = cohort({"plan", "resnet18.trace.json.gz", "-n", "2", "--json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("ops were not timed"));
}

TEST_F(ProfileFromTimes, KnowsAMigSliceByItsName) {
  write("slice.csv", "minibatch,gpcs,samples_per_s\n16,3,900\n16,7,2220\n");
  const Outcome made = cohort(
      {"profile", "resnet18", "--times", "slice.csv", "--device-profile", "A100 MIG 3g.20gb", "--minibatch", "16"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("takes 17.8 ms (line 2)"));
  EXPECT_EQ(cohort({"plan", "resnet18.trace.json.gz", "-n", "2"}).exit_code, 0);
}

TEST_F(ProfileFromTimes, IsNotMixedWithWhatIsTimed) {
  ASSERT_EQ(cohort(of({"--minibatch", "16"})).exit_code, 0);
  const Outcome checked = cohort({"plan", "resnet18.trace.json.gz", "-n", "2", "--check", "1"});
  EXPECT_EQ(checked.exit_code, 3);
  EXPECT_THAT(checked.err, HasSubstr("--check: the profile was made from step times, its ops were never timed"));
  ASSERT_EQ(cohort({"plan", "resnet18.trace.json.gz", "-n", "2"}).exit_code, 0);
  const Outcome added = cohort({"profile", "--add", "resnet18.trace.json.gz", "--for", "resnet18.plan.json"});
  EXPECT_EQ(added.exit_code, 3);
  EXPECT_THAT(added.err, HasSubstr("resnet18.trace.json.gz: the profile was made from step times"));
}

TEST_F(ProfileFromTimes, SaysWhatTellsTheGpusPartWhereItIsNotKnown) {
  write("one.csv", "minibatch,step_ms\n1,7.2\n");
  const Outcome made = cohort({"profile", "mlp", "--times", "one.csv", "--device-profile", "A100"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("takes 7.20 ms (line 2); the GPU works at most"));
  EXPECT_THAT(made.out, HasSubstr("Add rows of a larger minibatch"));
  EXPECT_THAT(made.err, Not(HasSubstr("is the table of this model")));
}

TEST_F(ProfileFromTimes, DoubtsATableOfAnotherModel) {
  EXPECT_THAT(cohort(of({"--minibatch", "16"})).err, Not(HasSubstr("is the table of this model")));
  const Outcome slow = cohort({"profile", "mlp", "--times", "resnet18.csv", "--device-profile", "A100"});
  EXPECT_EQ(slow.exit_code, 0);
  EXPECT_THAT(slow.err, HasSubstr("that mlp takes at least on A100 in float32; is the table of this model, this GPU"));
  write("half.csv", "minibatch,samples_per_s\n16,4440\n");  // in half precision
  const Outcome quick = cohort(
      {"profile", "resnet18", "--times", "half.csv", "--device-profile", "T4", "--minibatch", "16", "-o", "t4.gz"});
  EXPECT_EQ(quick.exit_code, 0);
  EXPECT_THAT(quick.err, HasSubstr("that resnet18 takes at least on T4"));
}

TEST_F(ProfileFromTimes, RefusesWhatItCannotTell) {
  const Outcome minibatch = cohort(of({"--minibatch", "8"}));
  EXPECT_EQ(minibatch.exit_code, 3);
  EXPECT_THAT(minibatch.err,
              HasSubstr("resnet18.csv: no row is of one process with minibatch 8 on the whole GPU; there "
                        "are 1, 2, 16, 64 (--minibatch)"));
  const Outcome gpu =
      cohort({"profile", "resnet18", "--times", "resnet18.csv", "--device-profile", "Voodoo 2", "--minibatch", "16"});
  EXPECT_EQ(gpu.exit_code, 3);
  EXPECT_THAT(gpu.err, HasSubstr("Voodoo 2 is neither a file nor a GPU whose figures are known: P100, V100, T4"));
  const Outcome missing =
      cohort({"profile", "resnet18", "--times", "resnet18.csv", "--device-profile", "h100.json", "--minibatch", "16"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("cannot read h100.json: No such file"));
  EXPECT_EQ(cohort({"profile", "resnet18", "--times", "", "--device-profile", "H100"}).exit_code, 3);
  const Outcome timed = cohort(of({"--beside", "--minibatch", "16"}));
  EXPECT_EQ(timed.exit_code, 2);
  EXPECT_THAT(timed.err, HasSubstr("--beside: not with --times, where nothing is timed"));
  const Outcome no_gpu = cohort({"profile", "resnet18", "--times", "resnet18.csv"});
  EXPECT_EQ(no_gpu.exit_code, 2);
  EXPECT_THAT(no_gpu.err, HasSubstr("--device-profile"));
}

}  // namespace
}  // namespace cohort
