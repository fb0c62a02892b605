#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/file.hpp"
#include "cli/child_program.hpp"
#include "tests/cupti/call_log.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/cupti/decoder.hpp"
#include "tracer/cupti_plugin.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class CuptiInjection : public ::testing::Test {
 protected:
  ChildEnd run(const std::string& how, std::map<std::string, std::string> environment = {}) {
    environment.insert({{kTraceSpoolVariable, (folder_.path() / "spools" / "spool").string()},
                        {kCuptiLibraryVariable, FAKE_CUPTI},
                        {kCallLogVariable, log().string()}});
    fs::create_directory(folder_.path() / "spools");
    const auto end = run_child({INJECTED_PROGRAM, TRACER_MODULE, FAKE_CUPTI, how, FAKE_CUDA}, environment);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : ChildEnd{};
  }
  [[nodiscard]] fs::path log() const { return folder_.path() / "calls"; }
  [[nodiscard]] std::vector<std::string> spools() const {
    std::vector<std::string> spools;
    for (const fs::directory_entry& file : fs::directory_iterator(folder_.path() / "spools"))
      spools.push_back(read_file(file.path()).value());
    return spools;
  }
  [[nodiscard]] Trace trace() const {
    const std::vector<std::string> files = spools();
    auto decoded = cupti::decode({files.begin(), files.end()});
    EXPECT_TRUE(decoded) << decoded.error().message;
    return decoded ? std::move(*decoded) : Trace{};
  }

  TemporaryFolder folder_;
};

TEST_F(CuptiInjection, RecordsAProgramToItsEndAndLeavesItsExitCode) {
  EXPECT_EQ(run("well").exit_code, 5);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U);
  EXPECT_EQ(recorded.info.settings.at("complete"), "yes");
}

TEST_F(CuptiInjection, HandsRangesToTheCuptiThatRecords) {
  EXPECT_EQ(run("ranges").exit_code, 5);
  EXPECT_TRUE(in_order(calls_in(log()), {"InitializeInjectionNvtx2", "cuptiActivityFlushAll 1"}));
  EXPECT_EQ(trace().slices.size(), 2U);
}

TEST_F(CuptiInjection, LeavesAValidTraceMarkedIncompleteWhereTheProgramCrashes) {
  EXPECT_EQ(run("crash").signal, SIGABRT);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U) << "what was flushed before";
  EXPECT_EQ(recorded.info.settings.at("complete"), "no");
  EXPECT_TRUE(parse_trace(trace_to_json(recorded)));
}

TEST_F(CuptiInjection, RecordsWhatAProcessRunsAfterItHasBecomeAnotherProgram) {
  EXPECT_EQ(run("exec").exit_code, 5);
  EXPECT_EQ(spools().size(), 2U);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 4U);
  EXPECT_EQ(recorded.info.settings.at("complete"), "no") << "the first program had no end";
}

TEST_F(CuptiInjection, SynchronisesAndThenFlushesByForceAndOnlyThenAsksWhatWasDropped) {
  run("well");
  const std::vector<std::string> calls = calls_in(log());
  EXPECT_TRUE(in_order(calls, {"cuCtxSynchronize 1", "cuptiActivityFlushAll 1", "cuptiActivityGetNumDroppedRecords",
                               "cuptiActivityDisable 10", "cuptiUnsubscribe"}));
  EXPECT_EQ(count_of("cuptiActivityFlushAll 1", calls), 1);
}

TEST_F(CuptiInjection, SynchronisesEveryContextThatIsThereAndMakesNone) {
  run("well", {{"FAKE_CUDA_DEVICES", "3"}});
  const std::vector<std::string> calls = calls_in(log());
  for (const char* const context : {"1", "2"})  // at the same time, so that neither waits for the other
    EXPECT_TRUE(in_order(calls, {fmt::format("cuCtxPushCurrent {}", context), fmt::format("cuEventQuery {}", context),
                                 fmt::format("cuCtxSynchronize {}", context), "cuptiActivityFlushAll 1"}));
  EXPECT_EQ(count_of("cuCtxPushCurrent 3", calls), 0) << "that device was never used";
}

TEST_F(CuptiInjection, WaitsForWorkThatEndsSoonAfterTheProgram) {
  EXPECT_EQ(run("well", {{"FAKE_CUDA_WORK", "ends"}}).exit_code, 5);
  EXPECT_EQ(count_of("cuEventQuery 1", calls_in(log())), 4);
  EXPECT_EQ(trace().info.settings.at("complete"), "yes");
}

TEST_F(CuptiInjection, LetsAProgramEndWhoseKernelsDoNotAndSaysThatTheTraceIsIncomplete) {
  EXPECT_EQ(run("well", {{"FAKE_CUDA_WORK", "never ends"}, {kTraceOptionsVariable, "wait=100"}}).exit_code, 5);
  const std::vector<std::string> calls = calls_in(log());
  EXPECT_TRUE(in_order(
      calls, {"cuEventQuery 1", "cuCtxPopCurrent 1", "cuptiActivityFlushAll 0", "cuptiActivityGetNumDroppedRecords"}))
      << "the driver is left before the process ends";
  EXPECT_EQ(count_of("cuCtxSynchronize 1", calls), 0) << "a call that would not return";
  EXPECT_EQ(count_of("cuptiActivityFlushAll 1", calls), 0) << "records of what still runs are not taken from CUPTI";
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U) << "what had ended";
  EXPECT_EQ(recorded.info.settings.at("complete"), "no");
  EXPECT_THAT(recorded.info.dropped,
              ElementsAre(Pair(std::string(kUnfinishedContexts) + " within 0.1 s after the program's", 1)));
}

TEST_F(CuptiInjection, LetsAProgramEndWhoseDriverDoesNotReturn) {
  const std::map<std::string, std::string> hanging{
      {"FAKE_CUDA_WORK", "hangs"}, {"FAKE_CUDA_DEVICES", "3"}, {kTraceOptionsVariable, "events wait=100"}};
  EXPECT_EQ(run("well", hanging).exit_code, 5);
  EXPECT_TRUE(in_order(calls_in(log()), {"cuCtxSynchronize 2", "cuptiActivityFlushAll 0"})) << "the other device's";
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U);
  EXPECT_EQ(recorded.info.settings.at("complete"), "no");
  EXPECT_THAT(recorded.info.dropped, ElementsAre(Pair(_, 1)));
}

TEST_F(CuptiInjection, CountsOptionsThatItDoesNotKnow) {
  run("well", {{kTraceOptionsVariable, "graphs wait=soon  evens"}});
  const Trace recorded = trace();
  EXPECT_THAT(recorded.info.dropped, UnorderedElementsAre(Pair("unknown options in COHORT_TRACE_OPTIONS: wait=soon", 1),
                                                          Pair("unknown options in COHORT_TRACE_OPTIONS: evens", 1)));
  EXPECT_EQ(recorded.info.settings.at("complete"), "yes");
}

TEST_F(CuptiInjection, CallsCuptiNoMoreWhileTheProgramsLibrariesAreTornDown) {
  run("slow end");
  const std::vector<std::string> calls = calls_in(log());
  ASSERT_FALSE(calls.empty());
  EXPECT_EQ(calls.back(), "cuptiUnsubscribe");
}

}  // namespace
}  // namespace cohort
