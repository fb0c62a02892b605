#include "tracer/file/mend_times.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tracer/file/trace_file.hpp"
#include "tracer/slice_kind.hpp"
#include "tracer/summary/gpu_summary.hpp"

namespace cohort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kBegin = 1'700'000'000'000'000;  // microseconds since 1970

struct Launched {
  std::int64_t start = 0;  ///< since kBegin, of the kernel; its launch is one of every 20 us from 0 on
  std::int64_t length = 0;
};

std::string event(std::string_view category, std::string_view name, std::int64_t start, std::int64_t length,
                  std::size_t id, std::string_view more) {
  const bool host = category == "cuda_runtime";
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"correlation":{}{}}}}},)",
      category, name, host ? 100 : 0, host ? 100 : 7, start, length, id, more);
}

Trace trace_of(const std::vector<Launched>& kernels, std::string_view more = "", std::string_view behind = "") {
  std::string events;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    events += event("cuda_runtime", "cudaLaunchKernel", kBegin + 20 * static_cast<std::int64_t>(i), 5, i + 1, "");
    events += event("kernel", fmt::format("k{}", i), kBegin + kernels[i].start, kernels[i].length, i + 1, more);
  }
  auto trace = parse_trace("{\"traceEvents\": [" + events + std::string(behind) + "{}]}");
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

/// "start+length" of the kernels since kBegin.
std::string kernels_of(const Trace& trace) {
  const SliceKinds kinds(trace.strings);
  std::string text;
  for (const Slice& slice : trace.slices) {
    if (kinds(slice) == SliceKind::kKernel)
      text += fmt::format("{}+{} ", slice.start.count() / 1000 - kBegin, slice.duration.count() / 1000);
  }
  return text;
}

/// "count reason" of what was mended.
std::vector<std::string> reasons_of(const Trace& trace) {
  std::vector<std::string> reasons;
  for (const auto& [reason, count] : trace.info.dropped) {
    if (reason.starts_with(kImpossibleTimes))
      reasons.push_back(fmt::format("{} {}", count, reason.substr(kImpossibleTimes.size())));
  }
  return reasons;
}

TEST(ImpossibleTimes, AreLeftAloneWhereThereAreNone) {
  const Trace trace = trace_of({{10, 30}, {41, 30}, {72, 30}, {103, 30}, {134, 30}});
  EXPECT_EQ(kernels_of(trace), "10+30 41+30 72+30 103+30 134+30 ");
  EXPECT_THAT(reasons_of(trace), IsEmpty());
}

TEST(ImpossibleTimes, AtZeroAreDroppedAndNamed) {
  const Trace trace = trace_of({{10, 30}, {-kBegin, 0}, {72, 30}});
  EXPECT_EQ(kernels_of(trace), "10+30 72+30 ");
  EXPECT_THAT(reasons_of(trace), ElementsAre("1 at time 0, dropped (\"k1\" at 0.000 us)"));
}

TEST(ImpossibleTimes, AtZeroAreWhereTheTraceBegins) {
  const auto trace = parse_trace(R"([{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":0,"dur":5},
      {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":10,"dur":5}])");
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->slices.size(), 2U);
}

TEST(ImpossibleTimes, BeforeTheLaunchAreDroppedAndNamedBeyondJitter) {
  const Trace trace = trace_of({{10, 30}, {-5'000'000, 30}, {39, 30}, {103, 30}});
  EXPECT_EQ(kernels_of(trace), "10+30 39+30 103+30 ");
  EXPECT_THAT(reasons_of(trace), ElementsAre("1 before its launch, dropped (\"k1\" at 1699999995000000.000 us)"));
}

TEST(ImpossibleTimes, OfADeviceWhoseClockIsBehindAreMoved) {
  const Trace trace = trace_of({{-5000, 30}, {-4969, 30}, {-4938, 30}, {-4907, 30}});
  EXPECT_EQ(kernels_of(trace), "0+30 31+30 62+30 93+30 ");
  EXPECT_THAT(reasons_of(trace), ElementsAre(HasSubstr("4 before its launch, so that all of the device is moved by")));
}

TEST(ImpossibleTimes, OverLaterLaunchesAreCutWhereTheNextStarts) {
  const Trace trace = trace_of({{10, 30}, {41, 100'000}, {72, 30}, {103, 30}, {134, 30}});
  EXPECT_EQ(kernels_of(trace), "10+30 41+31 72+30 103+30 134+30 ");
  EXPECT_THAT(reasons_of(trace), ElementsAre(HasSubstr("1 over later ones of its stream, cut where the next starts")));
}

TEST(ImpossibleTimes, AreNotThoseOverLaterWorkOfAnotherProcess) {
  const auto trace_of_two = [](int other) {
    std::string events;
    for (std::int64_t i = 0; i < 6; ++i) {
      const auto id = static_cast<std::size_t>(i) + 1;
      std::string launch = event("cuda_runtime", "cudaLaunchKernel", kBegin + 2 * i, 1, id, "");
      if (i > 0 && i < 4) launch.replace(launch.find("\"pid\":100"), 9, fmt::format("\"pid\":{}", other));
      events += launch + event("kernel", "k", kBegin + 40 + 30 * i, i == 0 ? 120 : 20, id, "");
    }
    auto trace = parse_trace("{\"traceEvents\": [" + events + "{}]}");
    EXPECT_TRUE(trace);
    return trace ? kernels_of(*trace) : "";
  };
  // The first ends after three that a process launched.
  EXPECT_EQ(trace_of_two(100), "40+30 70+20 100+20 130+20 160+20 190+20 ");
  EXPECT_EQ(trace_of_two(200), "40+120 70+20 100+20 130+20 160+20 190+20 ");
}

TEST(ImpossibleTimes, AreThoseOfManyThatOutlastAWaitOfTheHost) {
  const std::vector<Launched> kernels = {{10, 900'000}, {41, 100'000}, {72, 30}, {103, 30}, {134, 30}};
  EXPECT_EQ(kernels_of(trace_of(kernels)), "10+900000 41+100000 72+30 103+30 134+30 ");
  const std::string wait = event("cuda_runtime", "cudaDeviceSynchronize", kBegin + 100, 70, 99, "");
  EXPECT_EQ(kernels_of(trace_of(kernels, "", wait)), "10+31 41+31 72+30 103+30 134+30 ");
}

TEST(ImpossibleTimes, AreNotThoseOfBranchesOfAGraphOrOfTracksThatHoldSeveralStreams) {
  EXPECT_THAT(reasons_of(trace_of({{10, 30}, {41, 1000}, {72, 30}, {103, 30}, {134, 30}}, R"(,"graph node id":3)")),
              IsEmpty());
  EXPECT_THAT(reasons_of(trace_of({{10, 1000}, {41, 900}, {72, 30}, {103, 30}, {134, 30}})), IsEmpty());
}

TEST(ImpossibleTimes, OfTheLastKernelAreThoseBeyondAnyRecording) {
  const Trace trace = trace_of({{10, 30}, {41, 30}, {72, 907'200'000'000}});
  EXPECT_EQ(kernels_of(trace), "10+30 41+30 ");
  EXPECT_THAT(reasons_of(trace), ElementsAre(HasSubstr("1 longer than ten times the recording, dropped (\"k2\"")));
}

TEST(ImpossibleTimes, LowerConfidence) {
  const auto summary = summarize_gpu(trace_of({{10, 30}, {-5'000'000, 30}, {39, 30}, {103, 30}}));
  ASSERT_TRUE(summary);
  bool found = false;
  for (const Shortcoming& shortcoming : summary->shortcomings) {
    found = found || (shortcoming.severity == Severity::kLowers && shortcoming.what.starts_with("1 of device work of"));
  }
  EXPECT_TRUE(found);
  EXPECT_NE(summary->confidence(), "high");
}

TEST(ImpossibleTimes, TakeTheirFlowsAlong) {
  std::string events;
  for (int i = 1; i < 4; ++i) {
    events += event("cuda_runtime", "cudaLaunchKernel", kBegin + 20 * i, 5, static_cast<std::size_t>(i), "");
    const std::int64_t start = i == 2 ? 0 : kBegin + 100 * i;
    events += event("kernel", "k", start, 5, static_cast<std::size_t>(i), "");
    events += fmt::format(R"({{"ph":"s","cat":"ac2g","name":"ac2g","id":{0},"pid":100,"tid":100,"ts":{1}}},
        {{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":{0},"pid":0,"tid":7,"ts":{2}}},)",
                          i, kBegin + 20 * i, start);
  }
  const auto trace = parse_trace("[" + events + "{}]");
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->slices.size(), 5U);
  for (const Flow& flow : trace->flows) {
    EXPECT_EQ(trace->integer_arg(trace->slice(flow.from), "correlation"),
              trace->integer_arg(trace->slice(flow.to), "correlation"));
  }
}

}  // namespace
}  // namespace cohort
