// What the tracer asks of CUPTI, and in which order: the rules that keep a recording true are kept by calls whose
// effect a stand-in cannot show.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cupti/call_log.hpp"
#include "tests/temporary_folder.hpp"
#include "tracer/cupti/collector.hpp"
#include "tracer/cupti/records.hpp"

namespace cohort::cupti {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Not;
using ::testing::StartsWith;

std::string enabling(CUpti_ActivityKind kind) {
  return fmt::format("cuptiActivityEnable {}", static_cast<std::uint32_t>(kind));
}
std::string disabling(CUpti_ActivityKind kind) {
  return fmt::format("cuptiActivityDisable {}", static_cast<std::uint32_t>(kind));
}

class CuptiRules : public ::testing::Test {
 protected:
  CuptiRules() {
    ::setenv(kCuptiLibraryVariable, FAKE_CUPTI, 1);
    ::setenv(kCallLogVariable, log().c_str(), 1);
  }
  ~CuptiRules() override {
    for (const char* name : {kCuptiLibraryVariable, kCallLogVariable, "FAKE_CUPTI_NO_CALLS"}) ::unsetenv(name);
  }
  CuptiRules(const CuptiRules&) = delete;
  CuptiRules& operator=(const CuptiRules&) = delete;

  [[nodiscard]] std::filesystem::path log() const { return folder_.path() / "calls"; }
  /// The calls of a whole recording.
  std::vector<std::string> record(const CuptiOptions& options, bool detach = false) {
    const auto collector = Collector::start(options, [](std::string_view) {});
    EXPECT_TRUE(collector) << collector.error().message;
    EXPECT_TRUE(collector && (*collector)->stop(detach));
    return calls_in(log());
  }

  const TemporaryFolder folder_;
};

TEST_F(CuptiRules, KernelsAreRecordedAsConcurrentOnesSinceTheOtherKindSerialisesThem) {
  const auto calls = record({});
  EXPECT_THAT(calls, Contains(enabling(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)));
  EXPECT_THAT(calls, Not(Contains(enabling(CUPTI_ACTIVITY_KIND_KERNEL))));
}

TEST_F(CuptiRules, WholeGraphsAreRecordedOnRequestAloneSinceThenTheirNodesAreNot) {
  EXPECT_THAT(record({}), Not(Contains(enabling(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))));
  CuptiOptions options;
  options.whole_graphs = true;
  const auto calls = record(options);
  EXPECT_THAT(calls, Contains(enabling(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)));
  EXPECT_THAT(calls, Contains(disabling(CUPTI_ACTIVITY_KIND_GRAPH_TRACE)));
}

TEST_F(CuptiRules, CuptiIsToldThatBuffersAreZeroedBeforeItAsksForOne) {
  const std::string zeroed =
      fmt::format("cuptiActivitySetAttribute {} 1", static_cast<int>(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER));
  const auto calls = record({});
  EXPECT_TRUE(
      in_order(calls, {zeroed, "cuptiActivityRegisterCallbacks", enabling(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)}));
}

TEST_F(CuptiRules, TheEndFlushesByForceAndThenAsksWhatWasDroppedAndHoldsNoLock) {
  const auto calls = record({});  // asked for what was dropped, the stand-in waits for a buffer to be taken back
  EXPECT_TRUE(in_order(calls, {"cuptiActivityFlushAll 1", "cuptiActivityGetNumDroppedRecords",
                               disabling(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiUnsubscribe"}));
  EXPECT_EQ(count_of("cuptiActivityFlushAll 0", calls), 0);
}

TEST_F(CuptiRules, TimesOfQueueingAndOfEventsAreAskedForBeforeAnythingIsRecordedAndOnRequestAlone) {
  EXPECT_THAT(record({}), Each(AllOf(Not(StartsWith("cuptiActivityEnableLatencyTimestamps")),
                                     Not(StartsWith("cuptiActivityEnableCudaEventDeviceTimestamps")))));
  CuptiOptions options;
  options.latency_timestamps = true;
  options.event_times = true;
  const auto calls = record(options);
  EXPECT_TRUE(
      in_order(calls, {"cuptiActivityEnableLatencyTimestamps 1", "cuptiActivityEnableCudaEventDeviceTimestamps 1",
                       enabling(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnableLatencyTimestamps 0",
                       "cuptiActivityEnableCudaEventDeviceTimestamps 0"}));
}

TEST_F(CuptiRules, NoisyCallsAreSilencedOnceCallsAreRecorded) {
  EXPECT_TRUE(in_order(record({}), {enabling(CUPTI_ACTIVITY_KIND_RUNTIME),
                                    fmt::format("cuptiActivityEnableRuntimeApi {} 0",
                                                static_cast<int>(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020)),
                                    fmt::format("cuptiActivityEnableDriverApi {} 0",
                                                static_cast<int>(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent))}));
}

TEST_F(CuptiRules, DetachingIsTheLastCallAndOnRequestAlone) {
  EXPECT_EQ(count_of("cuptiFinalize", record({})), 0);
  EXPECT_EQ(record({}, true).back(), "cuptiFinalize");
}

TEST_F(CuptiRules, AStartThatFailsLeavesNothingSwitchedOn) {
  ::setenv("FAKE_CUPTI_NO_CALLS", "1", 1);
  CuptiOptions options;
  options.event_times = true;
  EXPECT_FALSE(Collector::start(options, [](std::string_view) {}));
  const auto calls = calls_in(log());
  std::ptrdiff_t enabled = 0;
  for (std::uint32_t kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    const auto of_kind = static_cast<CUpti_ActivityKind>(kind);
    EXPECT_EQ(count_of(enabling(of_kind), calls), count_of(disabling(of_kind), calls)) << "kind " << kind;
    enabled += count_of(enabling(of_kind), calls);
  }
  EXPECT_GT(enabled, 0);
  EXPECT_THAT(calls, Contains("cuptiActivityEnableCudaEventDeviceTimestamps 0"));
  EXPECT_EQ(calls.back(), "cuptiUnsubscribe");
}

}  // namespace
}  // namespace cohort::cupti
