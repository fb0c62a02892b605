#include "tracer/summary/gpu_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tracer/file/trace_file.hpp"
#include "tracer/summary/launches.hpp"

namespace cohort {
namespace {

using namespace literals;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDevice =
    R"(,"deviceProperties":[{"id":0,"name":"NVIDIA H100","numSms":132,"totalGlobalMem":1}]})";

/// JSON of one slice; `more` are further arguments.
std::string slice(std::string_view category, std::string_view name, int track, int start, int duration,
                  const std::string& args) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{}.5,"dur":{},"args":{{{}}}}},)",
                     category, name, track < 100 ? 0 : 100, track, start, duration, args);
}
std::string kernel(std::string_view name, int stream, int start, int duration, int correlation) {
  return slice(
      "kernel", name, stream, start, duration,
      fmt::format(R"("device":0,"stream":{},"correlation":{},"grid":[1,1,1],"block":[32,1,1],"registers per thread":8)",
                  stream, correlation));
}
std::string call(std::string_view name, int start, int duration, int correlation) {
  return slice("cuda_runtime", name, 100, start, duration, fmt::format("\"correlation\":{}", correlation));
}

Trace trace_of(std::string events) {
  if (!events.empty()) events.pop_back();
  auto trace = parse_trace("{\"traceEvents\":[" + events + "]" + kDevice);
  EXPECT_TRUE(trace) << trace.error().message;
  return trace ? std::move(*trace) : Trace{};
}

// t (us)     0         10        20        30        40        50
// thread 100 [aten::mm------------------]  [-aten::add-]
//             [L1][L2]     [graph 3]        [L4]
// stream 7           [-a--]     [-a-][-b--]      [--a--]
// stream 8       orphan:   [--c--]
std::string typical() {
  return slice("cpu_op", "aten::mm", 100, 0, 28, R"("External id":1)") +
         slice("cpu_op", "aten::bmm", 100, 9, 12, R"("External id":2)") + call("cudaLaunchKernel", 1, 2, 1) +
         call("cudaLaunchKernel", 4, 2, 2) + call("cudaGraphLaunch", 11, 4, 3) +
         slice("user_annotation", "loss", 100, 30, 12, "") + call("cudaLaunchKernelExC_v11060", 31, 2, 4) +
         kernel("a", 7, 8, 5, 1) + kernel("a", 7, 16, 4, 3) + kernel("b", 7, 20, 5, 3) + kernel("a", 7, 36, 6, 4) +
         kernel("c", 8, 12, 6, 99);
}

TEST(Launches, LinkWorkToCallsOpsAndAnnotations) {
  const Trace trace = trace_of(typical());
  const auto links = link_launches(trace);
  ASSERT_EQ(links.size(), 5U);
  const auto name = [&](const std::optional<SliceId>& id) {
    return id ? std::string(trace.name(trace.slice(*id))) : std::string("none");
  };
  EXPECT_EQ(name(links[0].call), "cudaLaunchKernel");
  EXPECT_EQ(name(links[0].op), "aten::mm");
  EXPECT_EQ(name(links[1].call), "cudaGraphLaunch");
  EXPECT_EQ(name(links[1].op), "aten::bmm");
  EXPECT_EQ(name(links[1].outer_op), "aten::mm");
  EXPECT_EQ(links[1].call, links[2].call);  // two nodes of one graph
  EXPECT_EQ(name(links[3].op), "none");
  EXPECT_EQ(name(links[3].annotation), "loss");
  EXPECT_EQ(name(links[4].call), "none");
}

TEST(Launches, TakeTheRuntimesCallWhereTheDriversLiesInside) {
  const Trace trace =
      trace_of(call("cudaLaunchKernel", 1, 5, 1) +
               slice("cuda_driver", "cuLaunchKernel", 100, 2, 3, "\"correlation\":1") + kernel("a", 7, 8, 5, 1));
  const auto links = link_launches(trace);
  ASSERT_EQ(links.size(), 1U);
  ASSERT_TRUE(links[0].call);
  EXPECT_EQ(trace.name(trace.slice(*links[0].call)), "cudaLaunchKernel");
}

TEST(Launches, OfAnIdUsedTwiceTakeTheLatestCallBeforeTheWork) {
  const Trace trace = trace_of(call("cudaLaunchKernel", 1, 1, 5) + call("cudaLaunchKernel", 50, 1, 5) +
                               kernel("a", 7, 8, 5, 5) + kernel("a", 7, 60, 5, 5));
  const auto links = link_launches(trace);
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(trace.slice(*links[0].call).start, 1500_ns);
  EXPECT_EQ(trace.slice(*links[1].call).start, 50'500_ns);
}

TEST(GpuSummary, TakesGpusThatRunAtTheSameTimeForNoOverlap) {
  std::string events = typical();
  const std::string track = R"("pid":0,"tid":8)";
  ASSERT_NE(events.find(track), std::string::npos);
  const auto summary = summarize_gpu(trace_of(events.replace(events.find(track), track.size(), R"("pid":1,"tid":8)")));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->busy, 23_us);
  EXPECT_EQ(summary->overlapped, 0_us);
}

TEST(Launches, FallBackToTheExternalIdForWorkWithoutACall) {
  const Trace trace = trace_of(slice("cpu_op", "aten::mm", 100, 0, 9, R"("External id":7)") +
                               slice("kernel", "a", 7, 8, 5, R"("External id":7)"));
  const auto links = link_launches(trace);
  ASSERT_EQ(links.size(), 1U);
  ASSERT_TRUE(links[0].op);
  EXPECT_EQ(trace.name(trace.slice(*links[0].op)), "aten::mm");
}

TEST(GpuSummary, CountsWorkAndHowMuchOfItOverlaps) {
  const auto summary = summarize_gpu(trace_of(typical()));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->kernels, 5);
  EXPECT_EQ(summary->different_kernels, 3);
  EXPECT_EQ(summary->kernel_time, 26_us);
  EXPECT_EQ(summary->active->length(), 34_us);
  EXPECT_EQ(summary->busy, 23_us);       // 8 to 25 without a gap, 36 to 42
  EXPECT_EQ(summary->overlapped, 3_us);  // 12 to 13, 16 to 18
  ASSERT_EQ(summary->streams.size(), 2U);
  EXPECT_EQ(summary->streams[0].busy, 20_us);
  EXPECT_EQ(summary->streams[0].kernels, 4);
  ASSERT_EQ(summary->top_kernels.size(), 3U);
  EXPECT_EQ(summary->top_kernels[0].name, "a");
  EXPECT_EQ(summary->top_kernels[0].time, 15_us);
}

TEST(GpuSummary, TellsWaitingForLaunchesFromWaitingForTheStream) {
  const auto summary = summarize_gpu(trace_of(typical()));
  ASSERT_TRUE(summary);
  const LaunchSummary& launch = summary->launch;
  EXPECT_EQ(launch.launches, 3);
  EXPECT_EQ(launch.graph_launches, 1);
  EXPECT_EQ(launch.threads, 1);
  EXPECT_EQ(launch.idle_start.count, 2);  // the first and the last on stream 7
  EXPECT_EQ(launch.idle_start.median, 5_us);
  EXPECT_EQ(launch.idle_start.p90, 5_us);
  EXPECT_EQ(launch.busy_gap.count, 1);  // the graph's second node waited for its first
  EXPECT_EQ(launch.busy_gap.median, 0_us);
  EXPECT_EQ(launch.overlapping, 0);
  EXPECT_EQ(summary->orphans, 1);
  EXPECT_EQ(summary->idle_calls, 1);
  EXPECT_EQ(summary->without_op, 1);
}

bool has(const GpuSummary& summary, Severity severity, const std::string& text) {
  return std::any_of(summary.shortcomings.begin(), summary.shortcomings.end(), [&](const Shortcoming& it) {
    return it.severity == severity && it.what.find(text) != std::string::npos;
  });
}

std::string steps(int count) {
  std::string events;
  for (int i = 0; i < count; ++i) {
    events += call("cudaLaunchKernel", 100 * i, 2, 10 + i) + kernel("a", 7, 100 * i + 10, 50, 10 + i);
    events += slice("user_annotation", fmt::format("ProfilerStep#{}", i), 100, 100 * i, 99, "");
  }
  return events;
}

TEST(GpuSummary, HasConfidenceInACompleteTrace) {
  const auto summary = summarize_gpu(trace_of(steps(3)));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->steps.steps.size(), 3U);
  EXPECT_TRUE(summary->shortcomings.empty()) << format_gpu_summary(*summary);
  EXPECT_EQ(summary->confidence(), "high");
}

TEST(GpuSummary, SaysWhatIsMissingAndLosesConfidence) {
  const auto orphans = summarize_gpu(trace_of(steps(3) + kernel("a", 7, 900, 50, 99)));
  ASSERT_TRUE(orphans);
  EXPECT_TRUE(has(*orphans, Severity::kLowers, "1 of 4 pieces of device work have no call"));
  EXPECT_EQ(orphans->confidence(), "medium");

  const auto bare = summarize_gpu(
      trace_of(slice("kernel", "a", 7, 0, 1, "") + slice("kernel", "ncclDevKernel_AllReduce", 8, 0, 1, "")));
  ASSERT_TRUE(bare);
  EXPECT_TRUE(has(*bare, Severity::kLowers, "no calls of the CUDA or HIP runtime"));
  EXPECT_TRUE(has(*bare, Severity::kLowers, "2 of 2 kernels without grid"));
  EXPECT_TRUE(has(*bare, Severity::kLowers, "collective"));
  EXPECT_TRUE(has(*bare, Severity::kLowers, "no steps"));
  EXPECT_TRUE(has(*bare, Severity::kLowers, "at the same time for 100%"));
  EXPECT_EQ(bare->confidence(), "low");

  const auto copies = summarize_gpu(trace_of(slice("gpu_memcpy", "Memcpy", 7, 0, 1, "")));
  ASSERT_TRUE(copies);
  EXPECT_TRUE(has(*copies, Severity::kPrevents, "no kernels"));
  EXPECT_EQ(copies->confidence(), "none");
}

TEST(GpuSummary, IsAbsentWithoutDeviceWork) {
  EXPECT_FALSE(summarize_gpu(trace_of(call("cudaMalloc", 1, 2, 1))));
  EXPECT_FALSE(summarize_gpu(Trace{}));
}

TEST(GpuSummary, ReadsAsText) {
  const auto summary = summarize_gpu(trace_of(typical()));
  ASSERT_TRUE(summary);
  const std::string text = format_gpu_summary(*summary);
  EXPECT_THAT(text, HasSubstr("kernels   5 of 3 names, 26.0 us in all; 0 copies and 0 memsets, 0 ns\n"));
  EXPECT_THAT(text, HasSubstr("busy      23.0 us of the 34.0 us from the first device work to the last (67.6%)\n"));
  EXPECT_THAT(text, HasSubstr("launches  3 calls from 1 thread, 1 of graphs\n"));
  EXPECT_THAT(text, HasSubstr("prediction from this trace: confidence "));
}

/// Typical figures of these devices: 5 to 10 us from call to kernel, about 1 us between kernels.
TEST(GpuSummary, IsSensibleForRecordedTraces) {
  const auto folder = std::filesystem::path(COHORT_SOURCE_DIR).parent_path() / "shared" / "cases" / "traces";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  for (const char* file : {"qwen_0.5b_h100.json.gz", "ns_resolution_v100.json.gz"}) {
    const auto trace = read_trace(folder / file);
    ASSERT_TRUE(trace) << trace.error().message;
    const auto summary = summarize_gpu(*trace);
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->orphans * 100 > summary->kernels * 50, false) << file;
    EXPECT_GT(summary->launch.idle_start.median, 4_us) << file;
    EXPECT_LT(summary->launch.idle_start.median, 15_us) << file;
    EXPECT_GT(summary->launch.busy_gap.median, 500_ns) << file;
    EXPECT_LT(summary->launch.busy_gap.median, 3_us) << file;
  }
}

}  // namespace
}  // namespace cohort
