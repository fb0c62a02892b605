#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/cuda_libraries.hpp"
#include "base/file.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/cupti_plugin.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

using ::testing::HasSubstr;

const CuptiPlugin* plugin() {
  const auto library = open_plugin("cupti");
  EXPECT_TRUE(library) << library.error().message;
  if (!library) return nullptr;
  const auto entry = library->function<CuptiPluginEntry>(kCuptiPluginEntry);
  EXPECT_TRUE(entry) << entry.error().message;
  return entry ? (*entry)() : nullptr;
}

bool has_driver() { return probe_cuda_driver().has_value(); }

TEST(CuptiModule, OpensWithoutADriverAndSaysWhatIsMissing) {
  if (has_driver()) GTEST_SKIP() << "there is a driver here";
  const CuptiPlugin* module = plugin();
  ASSERT_NE(module, nullptr);
  const auto session = module->start({});
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, ErrorCode::kDeviceMissing);
  EXPECT_THAT(session.error().message, HasSubstr("libcuda.so.1"));
}

TEST(CuptiModule, LeavesAReadableSpoolWhereTracingDoesNotStartAndLetsTheProgramRunOn) {
  if (has_driver()) GTEST_SKIP() << "there is a driver here";
  const TemporaryFolder temporary;
  const std::filesystem::path& folder = temporary.path();
  const CuptiPlugin* module = plugin();
  ASSERT_NE(module, nullptr);
  const auto library = open_plugin("cupti");
  ASSERT_TRUE(library);
  const auto initialize = library->function<int()>("InitializeInjection");
  ASSERT_TRUE(initialize) << "the driver looks for this name";
  ::setenv(kTraceSpoolVariable, (folder / "spool").c_str(), 1);
  ::setenv(kCuptiLibraryVariable, COHORT_LIBCUPTI, 1);
  EXPECT_EQ((*initialize)(), 1);
  ::unsetenv(kTraceSpoolVariable);
  ::unsetenv(kCuptiLibraryVariable);

  const auto spool = read_file(folder / fmt::format("spool.{}", ::getpid()));
  ASSERT_TRUE(spool) << spool.error().message;
  const auto trace = module->decode({*spool});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->info.settings.at("complete"), "no");
  ASSERT_EQ(trace->info.dropped.size(), 1U);
  EXPECT_THAT(trace->info.dropped.begin()->first, HasSubstr("tracing did not start"));
  EXPECT_TRUE(parse_trace(trace_to_json(*trace)));
}

}  // namespace
}  // namespace cohort
