// Another program traced by `cohort profile`, with stand-ins for the driver and for libcupti where the loader looks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TracedProgram : public ProgramTest {
 protected:
  TracedProgram() {
    const fs::path libraries = libraries_.path();
    fs::create_symlink(FAKE_CUDA, libraries / "libcuda.so.1");
    fs::create_symlink(FAKE_CUPTI, libraries / "libcupti.so.13");
    ::setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
  }
  ~TracedProgram() override { ::unsetenv("LD_LIBRARY_PATH"); }
  TracedProgram(const TracedProgram&) = delete;
  TracedProgram& operator=(const TracedProgram&) = delete;

  Outcome profile(const std::string& how) {
    return cohort({"profile", "--json", "-o", "t.json", "--", INJECTED_PROGRAM, TRACER_MODULE, FAKE_CUPTI, how});
  }
  /// One that has loaded the driver, and leaves work behind that does not end.
  Outcome profile_endless() {
    ::setenv("FAKE_CUDA_WORK", "never ends", 1);
    Outcome outcome = cohort({"profile", "--end-wait", "0.1", "-o", "t.json", "--", INJECTED_PROGRAM, TRACER_MODULE,
                              FAKE_CUPTI, "zero", FAKE_CUDA});
    ::unsetenv("FAKE_CUDA_WORK");
    return outcome;
  }

 private:
  const TemporaryFolder libraries_;
};

TEST_F(TracedProgram, LeavesItsTraceAndItsExitCode) {
  const Outcome outcome = profile("zero");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json.at("kernels"), 2);
  EXPECT_EQ(json.at("complete"), true);
  EXPECT_THAT(files(), ElementsAre("t.json"));
  EXPECT_EQ(profile("well").exit_code, 3) << "a trace is not overwritten";
}

TEST_F(TracedProgram, IsKeptWhereAProcessOfItLeftNothingReadable) {
  const Outcome outcome = profile("junk");
  EXPECT_EQ(outcome.exit_code, 5) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out).at("dropped").size(), 1U);
  const auto trace = read_trace(path("t.json"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->slices.size(), 2U);
  EXPECT_EQ(trace->info.settings.at("complete"), "no");
}

TEST_F(TracedProgram, IsNotKeptFromItsEndByKernelsThatHaveNoneAndSaysSo) {
  const Outcome outcome = profile_endless();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("cohort: the GPU still worked 0.1 s after the program's end"));
  EXPECT_THAT(outcome.out, HasSubstr("2 kernels"));
  EXPECT_THAT(outcome.out, HasSubstr("the GPU still worked when the program had ended"));
  const auto trace = read_trace(path("t.json"));
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.settings.at("complete"), "no");
  EXPECT_EQ(trace->info.dropped.at("contexts whose work did not come to an end within 0.1 s after the program's"), 1);
}

TEST_F(TracedProgram, HasItsExitCodeThoughNothingOfItsRecordingCanBeRead) {
  const Outcome outcome = profile("only junk");
  EXPECT_EQ(outcome.exit_code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("ended with exit code 5"));
  EXPECT_THAT(outcome.err, HasSubstr("cannot be read"));
}

TEST_F(TracedProgram, ThatMakesNoCallToCudaHasItsExitCodeToo) {
  EXPECT_EQ(cohort({"profile", "-o", "t.json", "--", "false"}).exit_code, 1);
  const Outcome outcome = cohort({"profile", "-o", "t.json", "--", "true"});
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_THAT(outcome.err, HasSubstr("made no call to CUDA"));
}

}  // namespace
}  // namespace cohort
