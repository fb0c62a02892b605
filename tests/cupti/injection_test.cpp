#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/file.hpp"
#include "cli/child_program.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/cupti/decoder.hpp"
#include "tracer/cupti_plugin.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

namespace fs = std::filesystem;

class CuptiInjection : public ::testing::Test {
 protected:
  ChildEnd run(const std::string& how) {
    const auto end =
        run_child({INJECTED_PROGRAM, TRACER_MODULE, FAKE_CUPTI, how},
                  {{kTraceSpoolVariable, (folder_.path() / "spool").string()}, {kCuptiLibraryVariable, FAKE_CUPTI}});
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : ChildEnd{};
  }
  Trace trace() {
    for (const fs::directory_entry& file : fs::directory_iterator(folder_.path())) {
      const auto spool = read_file(file.path());
      EXPECT_TRUE(spool);
      auto decoded = cupti::decode({*spool});
      EXPECT_TRUE(decoded) << decoded.error().message;
      if (decoded) return std::move(*decoded);
    }
    ADD_FAILURE() << "no spool";
    return {};
  }

  TemporaryFolder folder_;
};

TEST_F(CuptiInjection, RecordsAProgramToItsEndAndLeavesItsExitCode) {
  EXPECT_EQ(run("well").exit_code, 5);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U);
  EXPECT_EQ(recorded.info.settings.at("complete"), "yes");
}

TEST_F(CuptiInjection, LeavesAValidTraceMarkedIncompleteWhereTheProgramCrashes) {
  EXPECT_EQ(run("crash").signal, SIGABRT);
  const Trace recorded = trace();
  EXPECT_EQ(recorded.slices.size(), 2U) << "what was flushed before";
  EXPECT_EQ(recorded.info.settings.at("complete"), "no");
  EXPECT_TRUE(parse_trace(trace_to_json(recorded)));
}

}  // namespace
}  // namespace cohort
